package engine

import (
	"encoding"
	"strings"
	"time"
)

var (
	_ encoding.TextMarshaler   = Duration(0)
	_ encoding.TextUnmarshaler = (*Duration)(nil)
)

// Duration is a time.Duration that reads and writes as text ("10m0s"), so
// that saved plans stay readable.
type Duration time.Duration

// String gives the duration as time.Duration prints it.
func (d Duration) String() string { return time.Duration(d).String() }

// Trimmed is the duration for people, without what is zero: 10m, 1h30m.
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

// UnmarshalText reads what time.ParseDuration accepts.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
