package engine

import (
	"fmt"
	"strconv"
	"strings"
)

// CountOrPercent is a number of hosts: a count, or a percentage of a pool.
type CountOrPercent struct {
	Count   int  `json:"count,omitempty"`
	Percent int  `json:"percent,omitempty"`
	Set     bool `json:"set,omitempty"`
}

// ParseCountOrPercent reads a percentage such as "10%". A count is a number in the
// inventory, never text, so that "60" cannot be meant as either.
func ParseCountOrPercent(s string) (CountOrPercent, error) {
	digits, ok := strings.CutSuffix(s, "%")
	if !ok {
		return CountOrPercent{}, fmt.Errorf("%q is not a percentage; write a count without quotes or a percentage such as \"10%%\"", s)
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || n > 100 || digits != strconv.Itoa(n) {
		return CountOrPercent{}, fmt.Errorf("%q is not a percentage between 1%% and 100%%, written without spaces", s)
	}
	return CountOrPercent{Percent: n, Set: true}, nil
}

// Of is how many of n hosts the limit allows: a percentage rounds down but is
// at least 1. A limit that was not set allows 1, as in a MachineConfigPool.
func (l CountOrPercent) Of(n int) int {
	switch {
	case l.Percent > 0:
		return max(1, n*l.Percent/100)
	case l.Count > 0:
		return l.Count
	}
	return 1
}

// String writes the limit as an operator would.
func (l CountOrPercent) String() string {
	if l.Percent > 0 {
		return strconv.Itoa(l.Percent) + "%"
	}
	return strconv.Itoa(l.Of(0))
}

// Part is how many of n hosts a limit on failures allows: a percentage rounds
// down, to 0 too. One that was not set allows none.
func (l CountOrPercent) Part(n int) int {
	if l.Percent > 0 {
		return n * l.Percent / 100
	}
	return l.Count
}

// asWritten is the limit as it was set, "" if it was not.
func (l CountOrPercent) AsWritten() string {
	switch {
	case !l.Set:
		return ""
	case l.Percent > 0:
		return l.String()
	}
	return fmt.Sprint(l.Count)
}
