package etcd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// opError is what a step on a cluster ended with. It prints in one line that
// is safe on a terminal, whatever a member answered.
type opError struct {
	cluster, step string
	err           error
}

func (e *opError) Error() string {
	return fmt.Sprintf("etcd cluster %s: %s: %s", e.cluster, e.step, oneLine(e.err))
}

func (e *opError) Unwrap() error { return e.err }

// joinDistinct joins errors as errors.Join does, saying the same thing once only.
func joinDistinct(causes ...error) error {
	var distinct []error
	seen := map[string]bool{}
	for _, err := range causes {
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			distinct = append(distinct, err)
		}
	}
	return errors.Join(distinct...)
}

// oneLine prints joined errors in one line.
func oneLine(err error) string {
	if err == nil {
		return "no reason given"
	}
	return printableText(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// longestText bounds what is taken from one text of a member or an error.
const longestText = 2000

// printableText makes text from outside safe to show: one line, no control
// characters, bounded length.
func printableText(s string) string {
	if len(s) > longestText {
		s = s[:longestText] + "…"
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return ' '
		case !strconv.IsPrint(r):
			return '?'
		}
		return r
	}, s)
}
