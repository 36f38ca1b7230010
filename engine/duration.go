package engine

import (
	"encoding"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

var (
	_ encoding.TextMarshaler   = Duration(0)
	_ encoding.TextUnmarshaler = (*Duration)(nil)
)

// Duration is a time.Duration that is read and written as text ("10m0s"), which
// keeps saved plans readable.
type Duration time.Duration

// String returns the duration as time.Duration prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// Trimmed returns the duration for people, without zero units: 10m, 1h30m.
func (d Duration) Trimmed() string {
	text := d.String()
	if rest, ok := strings.CutSuffix(text, "m0s"); ok {
		text = rest + "m"
	}
	if rest, ok := strings.CutSuffix(text, "h0m"); ok {
		text = rest + "h"
	}
	return text
}

// MarshalText writes the duration as text.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText accepts the same text as ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := ParseDuration(string(text))
	*d = v
	return err
}

// ParseDuration parses a duration that a person wrote. It accepts the syntax of
// time.ParseDuration, and days of 24 hours before all other units ("4d",
// "1d12h").
func ParseDuration(text string) (Duration, error) {
	days, rest, found := strings.Cut(text, "d")
	if !found {
		d, err := time.ParseDuration(text)
		return Duration(d), err
	}
	n, err := strconv.ParseFloat(days, 64)
	if err != nil || strings.Trim(days, "0123456789.") != "" {
		return 0, fmt.Errorf("invalid duration %q", text)
	}
	var more time.Duration
	if rest != "" {
		if more, err = time.ParseDuration(rest); err != nil || more < 0 {
			return 0, fmt.Errorf("invalid duration %q", text)
		}
	}
	total := n*float64(24*time.Hour) + float64(more)
	if total >= math.MaxInt64 {
		return 0, fmt.Errorf("duration %q is too long", text)
	}
	return Duration(n*float64(24*time.Hour)) + Duration(more), nil
}
