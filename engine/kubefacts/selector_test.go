package kubefacts_test

import (
	"strings"
	"testing"

	"holdfast/engine/kubefacts"
)

// TestParseSelector reads the forms of kubectl, and refuses others.
func TestParseSelector(t *testing.T) {
	for text, want := range map[string]string{ // labels that it matches, of those below
		"": "all", "app=web": "web", "app == web": "web", "app!=web": "cache none", "app": "web cache", "!app": "none",
		"app in (web, cache)": "web cache", "app notin (web)": "cache none", "app in (cache),tier!=x": "cache", "app=": "",
	} {
		s, err := kubefacts.ParseSelector(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, labels := range []map[string]string{{"app": "web"}, {"app": "cache"}, {}} {
			if s.Matches(labels) {
				got = append(got, labels["app"]+map[bool]string{true: "none"}[len(labels) == 0])
			}
		}
		if joined := strings.Join(got, " "); joined != want && (want != "all" || len(got) != 3) {
			t.Errorf("%s matches %q, want %q", text, joined, want)
		}
	}
	for _, text := range []string{"app=web and x", "in (a)", "app in a", "a b", "app in (", "!", "x=ü", "app>3"} {
		if s, err := kubefacts.ParseSelector(text); err == nil {
			t.Errorf("%q is %+v", text, s)
		}
	}
}
