package config

import (
	"strings"
	"testing"
)

func TestLengthOfUnitNames(t *testing.T) {
	for n, want := range map[int]bool{0: false, 1: true, 255: true, 256: false} {
		if got := isUnitName(strings.Repeat("a", n)); got != want {
			t.Errorf("%d letters: %t", n, got)
		}
	}
}
