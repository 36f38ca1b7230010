package observe_test

import (
	"testing"

	"holdfast/engine/resource"
	"holdfast/modules/hostconfig/observe/observetest"
)

// The probe counts the sessions of a user who leaves the configuration, by the exact name.
func TestSessionsOfLeavingUsersAreCounted(t *testing.T) {
	s := observetest.HostWithAccounts(t)
	s.WriteFile("/fake/loginctl", "#!/bin/sh\nprintf '%s\\n' ' 7 1000 core seat0 tty1' '12 0 root -' 'c3 1000 core -' '4 1001 core2 -'\n", 0o755)
	s.WriteRecord(resource.Record{Schema: resource.RecordSchema, Config: observetest.AccountConfig()})
	f := s.MustRead(resource.Config{Files: observetest.AccountConfig().Files})
	if n := f.Users["core"].Sessions; n != 2 {
		t.Errorf("%d sessions, %+v", n, f.Users["core"])
	}
}
