-- A database of version 2, with jobs in some states.
BEGIN TRANSACTION;
CREATE TABLE gnl_clock (now INTEGER NOT NULL, stamp INTEGER NOT NULL, token INTEGER NOT NULL, seq INTEGER NOT NULL, woken INTEGER NOT NULL);
INSERT INTO "gnl_clock" VALUES(1790000001000000,1790000001000001,3,5,0);
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
INSERT INTO "gnl_delayed" VALUES(4,'org','t',1790000060000000,0,0,NULL);
CREATE TABLE gnl_failures (
	seq INTEGER NOT NULL, 
	n INTEGER NOT NULL, 
	attempt INTEGER NOT NULL, 
	error TEXT NOT NULL, 
	failed_at INTEGER NOT NULL, 
	PRIMARY KEY (seq, n)
)
 WITHOUT ROWID;
INSERT INTO "gnl_failures" VALUES(2,1,1,'broken',1790000001000000);
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
INSERT INTO "gnl_finished" VALUES(1,'','done','"r"',NULL,1,1790000001000000);
INSERT INTO "gnl_finished" VALUES(2,'org','dead',NULL,'broken',1,1790000001000000);
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
INSERT INTO "gnl_held" VALUES(3,3,'','u','w',1,2,1790000001000000,1790000000000000,1790003601000000,0,NULL);
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
INSERT INTO "gnl_jobs" VALUES(1,'','done','t','{"a": "é"}',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(2,'org','dead','t','2',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(3,'','running','u','3',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(4,'org','delayed','t','4',NULL,1790000000000000);
INSERT INTO "gnl_jobs" VALUES(5,'org','ready','v','5',NULL,1790000001000000);
CREATE TABLE gnl_lanes (
	org TEXT NOT NULL, 
	type TEXT NOT NULL, 
	turn INTEGER NOT NULL, 
	head INTEGER DEFAULT 0 NOT NULL, 
	PRIMARY KEY (org, type)
)
 WITHOUT ROWID;
INSERT INTO "gnl_lanes" VALUES('org','v',1790000001000001,0);
CREATE TABLE gnl_meta (
	name TEXT NOT NULL, 
	value TEXT NOT NULL, 
	PRIMARY KEY (name)
)
 WITHOUT ROWID;
INSERT INTO "gnl_meta" VALUES('schema','2');
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
INSERT INTO "gnl_ready" VALUES('org','v',5,0,1790000001000000,0,NULL);
CREATE INDEX gnl_delayed_due ON gnl_delayed (type, due_at, seq);
CREATE INDEX gnl_delayed_org ON gnl_delayed (org);
CREATE INDEX gnl_finished_at ON gnl_finished (finished_at, seq);
CREATE INDEX gnl_held_expires ON gnl_held (expires_at);
CREATE INDEX gnl_jobs_listing ON gnl_jobs (org, seq);
CREATE INDEX gnl_lanes_turn ON gnl_lanes (type, turn);
COMMIT;
