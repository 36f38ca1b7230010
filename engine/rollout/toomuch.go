package rollout

// TooMuchOutput is the error of a script that printed more than the limit. The script is not run
// again: it would cost as much as the first time.
type TooMuchOutput struct{ Cause error }

// Error returns the cause's text.
func (e TooMuchOutput) Error() string { return e.Cause.Error() }

// Unwrap returns the cause.
func (e TooMuchOutput) Unwrap() error { return e.Cause }
