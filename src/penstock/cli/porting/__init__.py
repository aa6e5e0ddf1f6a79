"""`penstock port`: changes a PyFlink program, and says what differs.

imports    where the text names PyFlink's modules, and the text with ours
names      imported names that are not here
calls      methods that are not here, have no effect, or answer otherwise
functions  functions that keep in attributes what belongs into state
remarks   what is said about a line
program    one file: its text before and after, and its remarks
command    the command
"""
