package bench

import (
	"fmt"
	"strings"
)

// way is a way to update the OS of a member.
type way struct {
	letter string
	title  string

	offline  bool   // the script takes the member away and reboots its host, and holdfast does not run
	bare     bool   // there is no update
	script   string // runs on the host; "": holdfast stages the OS
	governed bool   // the cluster has latency limits
	mirrored bool   // the bastion serves the OS
}

// Scripts receive the remote, the ref and the commit as $1, $2 and $3.
const (
	naiveScript = `set -e
systemctl stop etcd
ostree pull "$1" "$2@$3"
ostree admin deploy "$1:$2"
systemctl reboot`
	plainScript = `set -e
ostree pull "$1" "$2@$3"
ostree admin deploy --stage --lock-finalization "$1:$2"`
)

func allWays() []way {
	return []way{
		{letter: "r", title: "bare reboot", offline: true, bare: true, script: "systemctl reboot"},
		{letter: "a", title: "naive", offline: true, script: naiveScript},
		{letter: "b", title: "staged plainly", script: plainScript},
		{letter: "c", title: "holdfast, not governed"},
		{letter: "d", title: "governed, from a server", governed: true},
		{letter: "e", title: "governed, from the bastion", governed: true, mirrored: true},
	}
}

func parseWays(letters string) ([]way, error) {
	var chosen []way
	for i, letter := range letters {
		w := wayOf(string(letter))
		if w.letter == "" || strings.ContainsRune(letters[:i], letter) {
			chosen = nil
			break
		}
		chosen = append(chosen, w)
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("--ways must have different letters of rabcde, not %q", letters)
	}
	return chosen, nil
}

func wayOf(letter string) way {
	for _, w := range allWays() {
		if w.letter == letter {
			return w
		}
	}
	return way{}
}
