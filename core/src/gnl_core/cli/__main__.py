"""``python -m gnl_core.cli``, where the script is not on the path."""

from gnl_core.cli import main

main()
