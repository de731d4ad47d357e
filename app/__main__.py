"""The pages as a process: `python -m app HOST PORT`."""

from answers.interrupts import ended_by_an_interrupt

if __name__ == "__main__":
    with ended_by_an_interrupt():
        from app.serve import main
    main()
