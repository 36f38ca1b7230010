package inventory

import "testing"

func TestLooksLikeIPv4(t *testing.T) {
	for s, want := range map[string]bool{
		"10.0.0.010": true, "10.0.0.300": true, "10.0.0": true, "1.2.3.4.5": true,
		"10": false, "w-1": false, "w-1.example": false, "10.0.0.3a": false, "w.10.example": false, "a.": false,
	} {
		if got := looksLikeIPv4(s); got != want {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
	}
}
