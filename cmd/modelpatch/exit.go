package main

// exitCodes is the part of every help text that scripts need.
const exitCodes = `Exit codes:
  0    done
  1    verification failed, files differ, or check found errors
  2    a flag or parameter is wrong
  3    an input cannot be read: missing, malformed, unsupported
  4    refused: this change cannot be made to this model
  5    output failed; files are as they were, unless the message says otherwise
  130  interrupted; the target is as it was
`

// codedError carries an exit code past cobra; its cause has been printed.
type codedError struct{ code int }

// Error is never printed: the cause has been.
func (*codedError) Error() string { return "failed" }
