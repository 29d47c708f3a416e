"""`python -m detent` is the command `detent`."""

from detent.cli import main

if __name__ == "__main__":
    main()
