package remote

import (
	"fmt"

	"holdfast/engine/remote/sshconfig"
)

// CheckConfig checks without a connection that ssh_config can be used for a target and its jump hosts. It runs no
// command: a Match exec is tried with either result, and the error is nil if one of them is fine.
func (d *Dialer) CheckConfig(t sshconfig.Target) error { return d.checkConfig(t, 0) }

func (d *Dialer) checkConfig(t sshconfig.Target, depth int) error {
	ep, err := d.lookUp(t, func(string) (bool, error) { return false, nil })
	if err != nil {
		if _, other := d.lookUp(t, func(string) (bool, error) { return true, nil }); other == nil {
			return nil
		}
		return err
	}
	if depth > maxJumps {
		return fmt.Errorf("more than %d jump hosts; check that jump hosts do not name each other", maxJumps)
	}
	for n, h := range ep.Jump {
		if n > 0 {
			_, err = d.lookUp(h.Target(t), nil)
		} else {
			err = d.checkConfig(h.Target(t), depth+1)
		}
		if err != nil {
			return fmt.Errorf("jump host: %w", err)
		}
	}
	return nil
}
