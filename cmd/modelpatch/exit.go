package main

// codedError carries an exit code past cobra; its cause has been printed.
type codedError struct{ code int }

// Error is never printed: the cause has been.
func (*codedError) Error() string { return "failed" }
