package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/connection"
	"holdfast/engine/remote"
	"holdfast/engine/textutil"
)

// maxMatch bounds a command of Match exec in ssh_config.
const maxMatch = 10 * time.Second

// runMatch runs a command of Match exec, as ssh would.
func (o *siteOpener) runMatch(command string) (bool, error) {
	ctx, cancel := context.WithTimeoutCause(o.soft, maxMatch, fmt.Errorf("it has not ended within %s", maxMatch))
	defer cancel()
	reply, err := bastion.Commands{}.Run(ctx, command, nil)
	return err == nil && reply.Code == 0, err
}

// checkSSHConfig checks without a connection that ssh_config can be used for the hosts. Hosts with the same mistake share
// an error.
func (o *siteOpener) checkSSHConfig(hosts []engine.Host) []error {
	d := remote.NewDialer(remote.Options{ReadFile: o.newInputs().ReadFile, Warn: o.printWarning})
	defer func() { _ = d.Close() }() // it has no connections
	var mistakes []string
	names := map[string][]string{}
	for _, h := range hosts {
		err := d.CheckConfig(connection.TargetOf(h))
		if err == nil {
			continue
		}
		text := err.Error()
		if !slices.Contains(mistakes, text) {
			mistakes = append(mistakes, text)
		}
		names[text] = append(names[text], h.Name)
	}
	var errs []error
	for _, text := range mistakes {
		errs = append(errs, fmt.Errorf("%s (for %s)", text, strings.Join(textutil.FoldNames(names[text]), ", ")))
	}
	return errs
}
