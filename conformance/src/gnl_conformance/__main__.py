"""``python -m gnl_conformance``."""

from gnl_conformance._cli import main

if __name__ == "__main__":
    raise SystemExit(main())
