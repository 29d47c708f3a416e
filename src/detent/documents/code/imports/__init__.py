"""How each language imports: from one statement to what it binds. Each module has one function, `imports`."""
