package bastion_test

import (
	"os"
	"os/user"
	"testing"

	"holdfast/engine/bastion"
)

// TestCompleteEnvironment checks that $HOME comes from the user database where it is missing, and stays where it is set.
func TestCompleteEnvironment(t *testing.T) {
	account, err := user.Current()
	if err != nil || account.HomeDir == "" {
		t.Skip("this account has no home directory")
	}
	t.Setenv("HOME", "")
	t.Setenv("PATH", "")
	bastion.CompleteEnvironment()
	if home := os.Getenv("HOME"); home != account.HomeDir {
		t.Errorf("HOME is %q, not %q", home, account.HomeDir)
	}
	if reply, err := (bastion.Commands{}).Run(t.Context(), "id -u", nil); err != nil || reply.Code != 0 {
		t.Errorf("a command without $PATH: %v, %+v", err, reply)
	}
	t.Setenv("HOME", "/elsewhere")
	t.Setenv("PATH", "/some/bin")
	bastion.CompleteEnvironment()
	if path, _ := os.LookupEnv("PATH"); os.Getenv("HOME") != "/elsewhere" || path != "/some/bin" {
		t.Error("variables that are set were changed")
	}
}
