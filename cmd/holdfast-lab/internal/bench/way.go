package bench

import (
	"fmt"
	"strings"
)

// Way is a way to update the OS of a member.
type Way struct {
	Letter string
	Title  string

	offline  bool   // the member is away while its OS is fetched
	bare     bool   // there is no update
	script   string // stages the OS on the host; "": holdfast stages it
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

// Ways returns all ways.
func Ways() []Way {
	return []Way{
		{Letter: "r", Title: "bare reboot", offline: true, bare: true, script: "systemctl reboot"},
		{Letter: "a", Title: "naive", offline: true, script: naiveScript},
		{Letter: "b", Title: "staged plainly", script: plainScript},
		{Letter: "c", Title: "holdfast, not governed"},
		{Letter: "d", Title: "governed, from a server", governed: true},
		{Letter: "e", Title: "governed, from the bastion", governed: true, mirrored: true},
	}
}

// parseWays returns the ways with these letters, in this order.
func parseWays(letters string) ([]Way, error) {
	var chosen []Way
	for i, letter := range letters {
		w := wayOf(string(letter))
		if w.Letter == "" || strings.ContainsRune(letters[:i], letter) {
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

func wayOf(letter string) Way {
	for _, w := range Ways() {
		if w.Letter == letter {
			return w
		}
	}
	return Way{}
}
