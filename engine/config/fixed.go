package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"holdfast/engine/resource"
)

// buildFixed collects the settings that only an installation can change. It
// stores digests, because a LUKS key file is a secret.
func (b *builder) buildFixed() []resource.Fixed {
	var list []resource.Fixed
	add := func(name string, value any, at resource.SourcePosition) {
		text, err := json.Marshal(value)
		if err != nil { // cannot happen: the value was decoded from JSON
			b.problems.AddError(at, "cannot be written as JSON")
			return
		}
		sum := sha256.Sum256(text)
		list = append(list, resource.Fixed{Name: name, Digest: hex.EncodeToString(sum[:]), From: at})
	}
	for _, x := range b.merged.Storage.Disks {
		add("storage.disks "+x.Device, x, b.places.entryPlace("disks "+x.Device))
	}
	for _, x := range b.merged.Storage.Filesystems {
		add("storage.filesystems "+x.Device, x, b.places.entryPlace("filesystems "+x.Device))
	}
	for _, x := range b.merged.Storage.Raid {
		add("storage.raid "+x.Name, x, b.places.entryPlace("raid "+x.Name))
	}
	for _, x := range b.merged.Storage.Luks {
		add("storage.luks "+x.Name, x, b.places.entryPlace("luks "+x.Name))
	}
	ign := b.merged.Ignition
	for _, s := range []struct {
		field string
		value any
	}{{"proxy", ign.Proxy}, {"security", ign.Security}, {"timeouts", ign.Timeouts}} {
		if !reflect.ValueOf(s.value).IsZero() {
			add("ignition."+s.field, s.value, b.sectionPlace("ignition", s.field))
		}
	}
	if b.spec.FIPS {
		add("fips", true, b.fipsPlace())
	}
	slices.SortFunc(list, func(x, y resource.Fixed) int { return strings.Compare(x.Name, y.Name) })
	return list
}

func (b *builder) sectionPlace(p ...any) resource.SourcePosition {
	for _, d := range slices.Backward(b.docs) {
		want := d.prefix.With(p...)
		if d.butane {
			want = snakePath(want)
		}
		if _, n := d.source.FollowPath(want); n == len(want) {
			return d.ignitionPlace(p)
		}
	}
	return resource.SourcePosition{}
}

func (b *builder) fipsPlace() resource.SourcePosition {
	for _, d := range slices.Backward(b.docs) {
		if d.spec.FIPS {
			return d.specPlace("fips")
		}
	}
	return resource.SourcePosition{}
}
