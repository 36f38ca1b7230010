package termtext

import (
	"testing"
	"time"

	"holdfast/engine"
)

// A text has its precision after rounding: 9.96 s are 10 s, not 10.0 s.
func TestPrecision(t *testing.T) {
	for d, want := range map[time.Duration]string{
		940 * time.Millisecond: "0.9 s", 9949 * time.Millisecond: "9.9 s", 9960 * time.Millisecond: "10 s",
		119400 * time.Millisecond: "119 s", 119600 * time.Millisecond: "2m0s", 3 * time.Hour: "3h0m0s",
	} {
		if got := FormatDuration(engine.Duration(d)); got != want {
			t.Errorf("FormatDuration(%v) = %q, want %q", d, got, want)
		}
	}
	for seconds, want := range map[float64]string{0: "0 ms", 0.00994: "9.9 ms", 0.00996: "10 ms", 0.9994: "999 ms", 0.9996: "1.0 s", 1.26: "1.3 s"} {
		if got := FormatLatency(seconds); got != want {
			t.Errorf("FormatLatency(%v) = %q, want %q", seconds, got, want)
		}
	}
}
