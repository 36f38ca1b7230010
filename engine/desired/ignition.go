package desired

import (
	"fmt"
	"slices"

	"holdfast/engine"
	"holdfast/engine/config"
	"holdfast/engine/resource"
)

// HostConfig returns the merged configuration of one host. Its error contains
// all problems of the documents.
func (c *Configs) HostConfig(host engine.Host) (config.Loaded, error) {
	g := c.groupOf(host)
	if g == nil {
		return config.Loaded{}, fmt.Errorf("%s has no configuration; name some with configs in pool %q or in the host", host.Name, host.Pool)
	}
	if !g.broken {
		c.desiredOS(host, g)
		if pool, _ := c.site.Inventory.Pool(host.Pool); g.lacksRole(pool) { // else the documents of the other hosts need not be read
			c.checkRolesApart(pool)
		}
	}
	return g.loaded, c.joinProblems()
}

// IgnitionGaps returns the parts of a configuration that its Ignition config
// cannot contain.
func IgnitionGaps(c resource.Config) []string {
	var list []string
	if c.OSImage != "" {
		list = append(list, "the OS image is not in the Ignition config: install "+c.OSImage+", or the first apply brings it")
	}
	if c.DemandsFIPS() {
		list = append(list, "FIPS mode is not in the Ignition config: install with the kernel argument fips=1")
	}
	for i, arg := range c.KernelArgs {
		if slices.Contains(c.KernelArgs[:i], arg) {
			list = append(list, "the kernel argument "+arg+" is asked for more than once, which Ignition cannot say; the first apply brings the rest")
		}
	}
	return list
}
