package gate

import (
	"fmt"

	"holdfast/engine"
)

// tally counts the answers of a gate.
type tally struct {
	gate     engine.Gate
	report   func(string)
	inRow    int    // number of good answers since the last bad one
	bad      int    // number of bad answers
	last     answer // the last bad answer
	reported string // comparison key of the last reported answer
}

func (t *tally) countAnswer(a answer) (done bool, err error) {
	if a.isGood() {
		t.inRow++
		t.last.command = a.command
		if t.inRow >= t.gate.Successes {
			return true, nil
		}
		t.reportChange("good", fmt.Sprintf("a good answer; it takes %d in a row", t.gate.Successes))
		return false, nil
	}
	t.inRow, t.last = 0, a
	t.bad++
	switch most := t.gate.Retries; {
	case a.final:
		return false, a.toFailure(a.problemLine())
	case most != nil && *most == 0:
		return false, a.toFailure(a.problemLine())
	case most != nil && t.bad > *most:
		return false, a.toFailure(fmt.Sprintf("%s; that is bad answer %d, and retries = %d", a.problemLine(), t.bad, *most))
	}
	t.reportChange(a.comparisonKey(), a.problemLine())
	return false, nil
}

func (t *tally) reportChange(picture, message string) {
	if t.reported != picture {
		t.reported = picture
		t.report(message)
	}
}

func (t *tally) timeoutReasons(timeout string) []string {
	row := fmt.Sprintf("%d of %d good answers in a row", t.inRow, t.gate.Successes)
	switch {
	case t.last.isGood() && t.inRow == 0:
		return []string{timeout}
	case t.last.isGood():
		return []string{timeout + ": " + row}
	case t.inRow == 0:
		return []string{timeout + ": " + t.last.problemLine()}
	}
	return []string{timeout + ": " + t.last.problemLine(), row}
}
