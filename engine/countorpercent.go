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

// Of returns how many of n hosts the setting allows: a percentage rounds down but is at
// least 1. The default is 1, as in a MachineConfigPool.
func (l CountOrPercent) Of(n int) int {
	switch {
	case l.Percent > 0:
		return max(1, n*l.Percent/100)
	case l.Count > 0:
		return l.Count
	}
	return 1
}

// String returns the setting as an operator writes it.
func (l CountOrPercent) String() string {
	if l.Percent > 0 {
		return strconv.Itoa(l.Percent) + "%"
	}
	return strconv.Itoa(l.Of(0))
}

// Part returns how many of n hosts may fail: a percentage rounds down, also to 0. The
// default is 0.
func (l CountOrPercent) Part(n int) int {
	if l.Percent > 0 {
		return n * l.Percent / 100
	}
	return l.Count
}

// AsWritten returns the setting as in the inventory, "" if it is not set.
func (l CountOrPercent) AsWritten() string {
	switch {
	case !l.Set:
		return ""
	case l.Percent > 0:
		return l.String()
	}
	return fmt.Sprint(l.Count)
}
