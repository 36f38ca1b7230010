package osimage

import (
	"strings"
	"testing"

	"holdfast/engine"
	"holdfast/modules/moduletest"
)

const (
	image1 = "quay.io/acme/os@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	image2 = "quay.io/acme/os@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// site is a driver with a fake host, and the log that a staging must leave.
type site struct {
	os   engine.OS
	prep func(*osHost)
	logs []string
}

func sites() map[string]site {
	commit := func(driver string) engine.OS {
		return engine.OS{Driver: driver, Remote: "lab", Ref: "lab/stable", Commit: moduletest.V2}
	}
	image := func(driver string) engine.OS { return engine.OS{Driver: driver, Image: image2} }
	booted := func(origin string) func(*osHost) {
		return func(b *osHost) {
			b.Write("booted", moduletest.V1+" "+origin)
			b.Write("meta/"+moduletest.V1+"/ostree.manifest-digest", "'"+engine.OS{Image: image1}.Digest()+"'")
		}
	}
	return map[string]site{
		"ostree": {os: commit("ostree"), logs: []string{
			"ostree pull lab lab/stable@" + moduletest.V2, "ostree admin deploy --stage --lock-finalization lab:lab/stable",
		}},
		"ostree follows the booted ref": {
			os: engine.OS{Driver: "ostree", Commit: moduletest.V2}, logs: []string{"ostree pull lab lab/stable@" + moduletest.V2},
		},
		"ostree 2022.7": {os: commit("ostree"), prep: func(b *osHost) { b.Write("ostree-version", "2022.7") }},
		"ostree 2026.4": {os: commit("ostree"), prep: func(b *osHost) { b.Write("ostree-version", "2026.4") }},
		"rpm-ostree rebase": {
			os: commit("rpm-ostree"), prep: func(b *osHost) { b.Write("booted", moduletest.V1+" lab:lab/old") },
			logs: []string{"rpm-ostree rebase --lock-finalization --bypass-driver lab:lab/stable " + moduletest.V2, "systemctl stop rpm-ostreed.service"},
		},
		"rpm-ostree deploy":  {os: commit("rpm-ostree"), logs: []string{"rpm-ostree deploy --lock-finalization --bypass-driver --skip-branch-check " + moduletest.V2}},
		"rpm-ostree layered": {os: commit("rpm-ostree"), prep: func(b *osHost) { b.Write("layered", "") }},
		"rpm-ostree image": {
			os: image("rpm-ostree"), prep: booted("ostree-unverified-registry:" + image1),
			logs: []string{"rpm-ostree rebase --lock-finalization --bypass-driver ostree-unverified-registry:" + image2},
		},
		"rpm-ostree signed image, layered": {
			os: image("rpm-ostree"), prep: func(b *osHost) { booted("ostree-image-signed:docker://" + image1)(b); b.Write("layered", "") },
			logs: []string{"rpm-ostree rebase --lock-finalization --bypass-driver ostree-image-signed:docker://" + image2},
		},
		"bootc": {
			os: image("bootc"), prep: booted("ostree-unverified-registry:" + image1), logs: []string{"bootc switch " + image2},
		},
		"bootc from a commit": {os: image("bootc")},
		"bootc 1.2":           {os: image("bootc"), prep: func(b *osHost) { booted("ostree-unverified-registry:" + image1)(b); b.Write("bootc-version", "1.2.0") }},
		"bootc 1.9":           {os: image("bootc"), prep: func(b *osHost) { booted("ostree-unverified-registry:" + image1)(b); b.Write("bootc-version", "1.9.0") }},
		"bootc index":         {os: image("bootc"), prep: func(b *osHost) { booted("ostree-unverified-registry:" + image1)(b); b.pushIndex() }},
		"rpm-ostree index":    {os: image("rpm-ostree"), prep: func(b *osHost) { booted("ostree-unverified-registry:" + image1)(b); b.pushIndex() }},
		"rpm-ostree signed index, layered": {os: image("rpm-ostree"), prep: func(b *osHost) {
			booted("ostree-image-signed:docker://" + image1)(b)
			b.pushIndex()
			b.Write("layered", "")
		}},
		"bootc on ostree 2022.7": {
			os: image("bootc"), prep: func(b *osHost) {
				booted("ostree-unverified-registry:" + image1)(b)
				b.Write("ostree-version", "2022.7")
			},
		},
	}
}

// pushIndex makes both images indexes. They have other digests for the platform of the host.
func (b *osHost) pushIndex() {
	for image, digit := range map[string]string{image1: "c", image2: "d"} {
		b.Write("index/"+engine.OS{Image: image}.Digest(), "sha256:"+strings.Repeat(digit, 64))
	}
	b.Write("meta/"+moduletest.V1+"/ostree.manifest-digest", "'sha256:"+strings.Repeat("c", 64)+"'")
	b.Run("origins booted")
}

// onEachTool runs a test once for every tool that updates the OS.
func onEachTool(t *testing.T, test func(*osHost, site, engine.Desired)) {
	t.Helper()
	onSites(t, []string{"ostree", "rpm-ostree image", "bootc"}, test)
}

// onSites runs a test once for each of some sites, each time with a new host.
func onSites(t *testing.T, names []string, test func(*osHost, site, engine.Desired)) {
	t.Helper()
	for _, name := range names {
		s := sites()[name]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newOSHost(t)
			if s.prep != nil {
				s.prep(b)
			}
			test(b, s, engine.Desired{OS: &s.os})
		})
	}
}
