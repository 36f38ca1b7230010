package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"holdfast/engine"
	"holdfast/engine/bastion"
	"holdfast/engine/connection"
	"holdfast/engine/inventory"
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

// fileHints has the next step for a file that is missing, by argument.
var fileHints = map[string]string{
	"known_hosts": "collect the keys of the hosts with ssh-keyscan and compare them, or correct known_hosts",
	"identity":    "put the key there, or correct identity",
}

// checkFiles returns a warning for each file of the inventory that runs cannot read here. It is no error, because the
// file may be on another machine, the bastion. A key whose public key is there may be in an agent.
func (o *siteOpener) checkFiles(loaded inventory.Loaded) (warnings []string) {
	in, hidden := o.newInputs(), textutil.NewSecrets(loaded.Sensitive)
	check := func(name string) error {
		info, err := fs.Stat(in.FS("/"), strings.TrimPrefix(name, "/"))
		if err == nil && info.Mode().IsRegular() {
			_, err = in.ReadFile(name)
		}
		return err
	}
	for _, f := range loaded.Files {
		if f.Argument == "configs" { // a mistake in each place
			continue
		}
		err := check(f.Path)
		if err == nil || strings.Contains(f.Path, "%") || f.Argument == "identity" && errors.Is(err, fs.ErrNotExist) && check(f.Path+".pub") == nil {
			continue
		}
		hint := cmp.Or(fileHints[f.Argument], "put it on the bastion, or name another file")
		warnings = append(warnings, hidden.Hide(fmt.Sprintf("%s: %s: %s cannot be read: %v; %s", f.At, f.Argument, textutil.Printable(f.Path), textutil.ErrorWithoutPath(err), hint)))
	}
	return warnings
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
