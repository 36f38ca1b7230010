package desired

import (
	"fmt"

	"holdfast/engine"
	"holdfast/engine/inventory"
)

// desiredOS reports settings in the documents that holdfast cannot apply.
func (c *Configs) desiredOS(h engine.Host, g *configGroup) *engine.OS {
	pool, _ := c.site.Inventory.Pool(h.Pool)
	want := g.loaded.Config
	const intoImage = "is not changed on running hosts by this version; put it into the OS image, and take it out here"
	if len(want.Extensions) > 0 {
		c.addProblemAt(g, "extensions", intoImage)
	}
	if want.ExtensionsImage != "" && len(want.Extensions) > 0 { // a kernel of another type is compared, not taken from it
		c.addProblemAt(g, "baseOSExtensionsContainerImage", intoImage)
	}
	if want.KernelType != "" && want.KernelType != "default" && pool.OS == nil {
		c.addProblemAt(g, "kernelType", fmt.Sprintf("is a part of the OS, and pool %q has no os block; add os { driver = \"rpm-ostree\" } to it, or ostree or bootc", pool.Name))
	}
	arguments := len(want.KernelArgs)+len(want.NoKernelArgs) > 0
	switch {
	case arguments && pool.OS == nil:
		c.addProblemAt(g, "kernelArguments", fmt.Sprintf("is changed with the OS tool, and pool %q has no os block that says which; add os { driver = \"rpm-ostree\" } to it, or ostree", pool.Name))
	case arguments && pool.OS.Driver == "bootc":
		c.addProblemAt(g, "kernelArguments", fmt.Sprintf("is not changed with bootc, the driver of pool %q; put it into the OS image, below /usr/lib/bootc/kargs.d, and take it out here", pool.Name))
	}
	if want.OSImage != "" {
		return c.mergeOSImage(pool, g)
	}
	c.requireBootcImage(h, pool.OS)
	return pool.OS
}

func (c *Configs) mergeOSImage(pool engine.Pool, g *configGroup) *engine.OS {
	image, os := g.loaded.Config.OSImage, pool.OS
	switch {
	case os == nil:
		c.addProblemAt(g, "osImageURL", fmt.Sprintf("is installed with the OS tool, and pool %q has no os block that says which; add os { driver = \"rpm-ostree\" } to it, or bootc", pool.Name))
	case !inventory.Pinned(image):
		c.addProblemAt(g, "osImageURL", "is not pinned; write NAME@sha256:DIGEST, with 64 hexadecimal digits: a tag can move")
	case os.Driver == "ostree":
		c.addProblemAt(g, "osImageURL", fmt.Sprintf("is a container image, which the driver ostree of pool %q does not install; use rpm-ostree or bootc", pool.Name))
	case os.Commit != "":
		c.addProblemAt(g, "osImageURL", fmt.Sprintf("says %s, and the os block of pool %q the commit %s; keep one", image, pool.Name, os.Commit))
	case os.Image != "" && os.Image != image:
		c.addProblemAt(g, "osImageURL", fmt.Sprintf("says %s, and the os block of pool %q says %s; keep one", image, pool.Name, os.Image))
	default:
		merged := *os
		merged.Image = image
		return &merged
	}
	return os
}

func (c *Configs) requireBootcImage(h engine.Host, os *engine.OS) {
	if os != nil && os.Driver == "bootc" && os.Image == "" {
		c.addProblem(fmt.Sprintf("pool %q has the driver bootc and no image, and the configurations of %s have no osImageURL; add one or the other", h.Pool, h.Name))
	}
}

func (c *Configs) addProblemAt(g *configGroup, setting, text string) {
	place := g.loaded.SettingPlace(setting).String()
	if place == "" {
		place = setting
	}
	c.addProblem(place + ": " + text)
}
