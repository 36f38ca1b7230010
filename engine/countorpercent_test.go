package engine_test

import (
	"testing"

	"holdfast/engine"
)

func TestParseLimit(t *testing.T) {
	for s, want := range map[string]int{"1%": 1, "10%": 10, "100%": 100} {
		l, err := engine.ParseCountOrPercent(s)
		if err != nil || l != (engine.CountOrPercent{Percent: want, Set: true}) || l.String() != s {
			t.Errorf("%s: %+v, %v", s, l, err)
		}
	}
	for _, s := range []string{"", "%", "0%", "101%", "-1%", "+1%", "01%", "1.5%", " 10%", "10 %", "10%%", "10", "1e1%", "99999999999999999999%", "١٠%"} {
		if l, err := engine.ParseCountOrPercent(s); err == nil {
			t.Errorf("%q is %+v", s, l)
		}
	}
}

// A percentage never allows more hosts than its share of the pool, and always
// at least one host. Otherwise no host of the pool could be updated.
func TestLimitOf(t *testing.T) {
	for percent := 1; percent <= 100; percent++ {
		for n := 1; n <= 200; n++ {
			got := engine.CountOrPercent{Percent: percent}.Of(n)
			if got < 1 || got > n {
				t.Fatalf("%d%% of %d is %d", percent, n, got)
			}
			if got > 1 && got*100 > percent*n || (got+1)*100 <= percent*n {
				t.Fatalf("%d%% of %d is %d", percent, n, got)
			}
		}
	}
	for _, tc := range []struct {
		limit engine.CountOrPercent
		n     int
		want  int
		text  string
	}{
		{engine.CountOrPercent{}, 50, 1, "1"},
		{engine.CountOrPercent{Set: true}, 50, 1, "1"},
		{engine.CountOrPercent{Count: 3}, 50, 3, "3"},
		{engine.CountOrPercent{Count: 3}, 2, 3, "3"},
		{engine.CountOrPercent{Percent: 10}, 48, 4, "10%"},
		{engine.CountOrPercent{Percent: 10}, 0, 1, "10%"},
	} {
		if got := tc.limit.Of(tc.n); got != tc.want || tc.limit.String() != tc.text {
			t.Errorf("%+v of %d: %d %q, want %d %q", tc.limit, tc.n, got, tc.limit, tc.want, tc.text)
		}
	}
}
