package scenario

import "testing"

// TestOnJudgesTheCommand: with "!", a host that is away, and a program that is missing, are no failures of the command.
func TestOnJudgesTheCommand(t *testing.T) {
	for _, c := range []struct {
		code  int
		neg   bool
		holds bool
	}{
		{0, false, true},
		{1, false, false},
		{255, false, false},
		{0, true, false},
		{1, true, true},
		{3, true, true},
		{124, true, true},
		{125, true, true},
		{126, true, false},
		{127, true, false},
		{255, true, false},
		{-1, true, false},
	} {
		if err := checkExit(c.code, c.neg); (err == nil) != c.holds {
			t.Errorf("exit code %d, negated %v: %v", c.code, c.neg, err)
		}
	}
}
