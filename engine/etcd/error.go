package etcd

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// opError is the error of a step on a cluster. It prints the answer of a member, if err has one, as one line of printable
// characters.
type opError struct {
	cluster, step string
	err           error
}

func (e *opError) Error() string {
	return fmt.Sprintf("etcd cluster %s: %s: %s", e.cluster, e.step, oneLine(e.err))
}

func (e *opError) Unwrap() error { return e.err }

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

func oneLine(err error) string {
	if err == nil {
		return "no reason given"
	}
	return printableText(strings.ReplaceAll(err.Error(), "\n", "; "))
}

// longestText bounds one text of a member or of an error, in bytes.
const longestText = 2000

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
