-- A database of version 1, with jobs in every state.
BEGIN TRANSACTION;
CREATE TABLE gnl_clock (now INTEGER NOT NULL, stamp INTEGER NOT NULL, token INTEGER NOT NULL, seq INTEGER NOT NULL, woken INTEGER NOT NULL);
INSERT INTO "gnl_clock" VALUES(1790000014000000,1790000013000000,7,10,3);
CREATE TABLE gnl_delayed (
	seq INTEGER NOT NULL, 
	org TEXT NOT NULL, 
	type TEXT NOT NULL, 
	due_at INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	reclaimed BOOLEAN NOT NULL, 
	error TEXT, 
	PRIMARY KEY (seq)
);
INSERT INTO "gnl_delayed" VALUES(6,'org','t',1790003600000000,0,0,NULL);
INSERT INTO "gnl_delayed" VALUES(7,'z''','v',1790007214000000,1,0,'later');
CREATE TABLE "gnl_failures" (seq INTEGER NOT NULL, attempt INTEGER NOT NULL, error TEXT NOT NULL, failed_at INTEGER NOT NULL);
INSERT INTO "gnl_failures" VALUES(2,1,'first failure',1790000004000000);
INSERT INTO "gnl_failures" VALUES(2,2,'second failure',1790000006000000);
INSERT INTO "gnl_failures" VALUES(2,1,'failed again',1790000008000000);
INSERT INTO "gnl_failures" VALUES(7,1,'later',1790000014000000);
CREATE TABLE gnl_finished (
	seq INTEGER NOT NULL, 
	org TEXT NOT NULL, 
	state TEXT NOT NULL, 
	result TEXT, 
	error TEXT, 
	attempts INTEGER NOT NULL, 
	finished_at INTEGER NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "gnl_finished" VALUES(1,'','done','"result"',NULL,1,1790000002000000);
INSERT INTO "gnl_finished" VALUES(2,'org','dead',NULL,'failed again',1,1790000008000000);
INSERT INTO "gnl_finished" VALUES(3,'org','canceled',NULL,NULL,0,1790000000000000);
CREATE TABLE gnl_held (
	seq INTEGER NOT NULL, 
	token INTEGER NOT NULL, 
	org TEXT NOT NULL, 
	type TEXT NOT NULL, 
	worker TEXT NOT NULL, 
	attempts INTEGER NOT NULL, 
	budget INTEGER NOT NULL, 
	granted_at INTEGER NOT NULL, 
	due_at INTEGER NOT NULL, 
	expires_at INTEGER NOT NULL, 
	canceled BOOLEAN NOT NULL, 
	error TEXT, 
	PRIMARY KEY (seq)
);
INSERT INTO "gnl_held" VALUES(4,5,'','u','worker-1',1,5,1790000009000000,1790000000000000,1790000069000000,0,NULL);
INSERT INTO "gnl_held" VALUES(5,6,'','u','worker-1',1,5,1790000011000000,1790000000000000,1790000071000000,1,NULL);
CREATE TABLE gnl_jobs (
	seq INTEGER NOT NULL, 
	org TEXT NOT NULL, 
	id TEXT NOT NULL, 
	type TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	max_attempts INTEGER, 
	enqueued_at INTEGER NOT NULL, 
	PRIMARY KEY (seq), 
	CONSTRAINT gnl_jobs_id UNIQUE (org, id)
);
INSERT INTO "gnl_jobs" VALUES(1,'','done','t','{"a": "é😀"}',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(2,'org','dead','t','2',2,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(3,'org','canceled','t','3',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(4,'','running','u','4',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(5,'','stopping','u','5',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(6,'org','delayed','t','6',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(7,'z''','retried','v','7',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(8,'org','ready-1','w','8',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(9,'org','ready-2','w','9',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(10,'','ready-3','w','10',NULL,1790000000000000);
CREATE TABLE gnl_lanes (
	org TEXT NOT NULL, 
	type TEXT NOT NULL, 
	turn INTEGER NOT NULL, 
	PRIMARY KEY (org, type)
)
 WITHOUT ROWID;
INSERT INTO "gnl_lanes" VALUES('org','w',1790000007000000);
INSERT INTO "gnl_lanes" VALUES('','w',1790000011000000);
CREATE TABLE gnl_meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
)
 WITHOUT ROWID;
INSERT INTO "gnl_meta" VALUES('schema','1');
CREATE TABLE gnl_ready (
	org TEXT NOT NULL, 
	type TEXT NOT NULL, 
	seq INTEGER NOT NULL, 
	attempts INTEGER NOT NULL, 
	due_at INTEGER NOT NULL, 
	reclaimed BOOLEAN NOT NULL, 
	error TEXT, 
	PRIMARY KEY (org, type, seq)
)
 WITHOUT ROWID;
INSERT INTO "gnl_ready" VALUES('','w',10,0,1790000000000000,0,NULL);
INSERT INTO "gnl_ready" VALUES('org','w',8,0,1790000000000000,0,NULL);
INSERT INTO "gnl_ready" VALUES('org','w',9,0,1790000000000000,0,NULL);
CREATE INDEX gnl_delayed_due ON gnl_delayed (type, due_at, seq);
CREATE INDEX gnl_delayed_org ON gnl_delayed (org);
CREATE INDEX gnl_finished_at ON gnl_finished (finished_at, seq);
CREATE INDEX gnl_held_expires ON gnl_held (expires_at);
CREATE INDEX gnl_jobs_listing ON gnl_jobs (org, seq);
CREATE INDEX gnl_lanes_turn ON gnl_lanes (type, turn);
CREATE INDEX gnl_failures_seq ON gnl_failures (seq);
COMMIT;
