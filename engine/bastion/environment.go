package bastion

import (
	"os"
	"os/user"
)

// standardPath is the search path of commands if the environment has none, such as under `env -i`.
const standardPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// CompleteEnvironment sets $HOME from the user database, and $PATH, if the environment lacks them, as in a systemd unit or
// under `env -i`. holdfast and all commands that it runs then find the same files. It must run before anything reads them.
func CompleteEnvironment() {
	if os.Getenv("HOME") == "" {
		if u, err := user.Current(); err == nil && u.HomeDir != "" {
			_ = os.Setenv("HOME", u.HomeDir) // fails only for invalid names
		}
	}
	if os.Getenv("PATH") == "" {
		_ = os.Setenv("PATH", standardPath)
	}
}
