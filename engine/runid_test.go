package engine_test

import (
	"testing"
	"time"

	"holdfast/engine"
)

func TestParseRunID(t *testing.T) {
	began := time.Date(2026, 3, 2, 10, 0, 7, 0, time.UTC)
	for id, want := range map[string]time.Time{
		engine.NewRunID(began, []byte("12345678")): began,
		"20260302-100007-0123456789abcdef":         began,
		"20260302-100007-01ef":                     {},
		"20260302-100007-0123456789ABCDEF":         {},
		"20260302-100007-0123456789abcde":          {},
		"20260302-100007-0123456789abcdeg":         {},
		"20260302-100007-0123456789abcdef0":        {},
		"20260230-100007-0123456789abcdef":         {},
		"20260302x100007-0123456789abcdef":         {},
		"20260302-100007x0123456789abcdef":         {},
		"20260302-100067-0123456789abcdef":         {},
		"run-1":                                    {},
		"":                                         {},
	} {
		got, ok := engine.ParseRunID(id)
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%q: %s, %t", id, got, ok)
		}
	}
}
