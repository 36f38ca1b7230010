package config

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/coreos/ignition/v2/config/v3_5/types"
)

// Ignition gives the merged configuration as Ignition config, as a new host
// is provisioned with. OS image, kernel type, extensions and FIPS have no
// place in it. It holds secrets.
func (l Loaded) Ignition() ([]byte, error) {
	text, err := json.Marshal(l.merged)
	if err != nil {
		return nil, fmt.Errorf("write Ignition config: %w", err)
	}
	return text, nil
}

// provisionable is the merged config as it makes Ignition do what is done on a
// running host: files replace what the OS has in their place (the default of
// the Machine Config Operator, not of Ignition), a masked unit is nothing
// else, and kernel arguments of MachineConfigs are there.
func (b *builder) provisionable() types.Config {
	c := b.merged
	c.Storage.Files = slices.Clone(c.Storage.Files)
	for i := range c.Storage.Files {
		f := &c.Storage.Files[i]
		if yes := true; f.Overwrite == nil && f.Contents.Source != nil {
			f.Overwrite = &yes
		}
	}
	c.Systemd.Units = slices.Clone(c.Systemd.Units)
	for i := range c.Systemd.Units {
		if u := &c.Systemd.Units[i]; isTrue(u.Mask) {
			u.Contents, u.Enabled = nil, nil
		}
	}
	c.KernelArguments.ShouldExist = nil
	for _, a := range b.out.KernelArgs {
		if arg := types.KernelArgument(a); !slices.Contains(c.KernelArguments.ShouldExist, arg) {
			c.KernelArguments.ShouldExist = append(c.KernelArguments.ShouldExist, arg)
		}
	}
	return c
}
