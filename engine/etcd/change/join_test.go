package change

import (
	"context"
	"strings"
	"testing"

	"holdfast/engine/etcd/membership"
)

// TestMemberListSetsNothingElse: names and URLs come from the list of members, and any member may lie. In the file that systemd reads,
// a line break begins another setting, a backslash continues a line, and a quote continues over lines.
func TestMemberListSetsNothingElse(t *testing.T) {
	t.Parallel()
	step := membership.MemberStep{Action: membership.Start, Host: "b", Member: "2"}
	for name, x := range map[string][2]string{
		"line break": {"a", "https://a:2380\nETCD_LOG_OUTPUTS=/etc/cron.d/x"}, "return": {"a", "https://a:2380\rETCD_LOG_OUTPUTS=/etc/cron.d/x"},
		"backslash": {"a", `https://a:2380\`}, "quote": {`"a`, "https://a:2380"}, "other quote": {"'a", "https://a:2380"},
		"": {"etcd-a é", "https://[fd00::1]:2380"},
	} {
		r := newFakeRun(&fakeHosts{}, &fakeEtcd{})
		r.members = []membership.Member{{ID: "1", Name: x[0], Host: "a"}, {ID: "2", Host: "b"}}
		r.urls = map[string][]string{"1": {x[1]}, "2": {"https://b:2380"}}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := actions{r}.startMember(ctx, step)
		if err == nil || strings.Contains(err.Error(), "cannot be in a file of settings") != (name != "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
