"""Runs the command line of the publisher."""

from leafwise.training.publish import main

raise SystemExit(main())
