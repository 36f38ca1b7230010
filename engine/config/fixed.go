package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"holdfast/engine"
)

// buildFixed collects the settings that only an installation can change. It
// stores digests, because a LUKS key file is a secret.
func (b *builder) buildFixed() []engine.Fixed {
	var list []engine.Fixed
	add := func(name string, value any, at engine.SourcePosition) {
		text, err := json.Marshal(value)
		if err != nil { // cannot happen: the value was decoded from JSON
			b.problems.AddError(at, "cannot be written as JSON")
			return
		}
		sum := sha256.Sum256(text)
		list = append(list, engine.Fixed{Name: name, Digest: hex.EncodeToString(sum[:]), From: at})
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
	slices.SortFunc(list, func(x, y engine.Fixed) int { return strings.Compare(x.Name, y.Name) })
	return list
}

func (b *builder) sectionPlace(p ...any) engine.SourcePosition {
	for _, d := range slices.Backward(b.docs) {
		want := d.prefix.With(p...)
		if d.butane {
			want = snakePath(want)
		}
		if _, n := d.source.FollowPath(want); n == len(want) {
			return d.ignitionPlace(p)
		}
	}
	return engine.SourcePosition{}
}

func (b *builder) fipsPlace() engine.SourcePosition {
	for _, d := range slices.Backward(b.docs) {
		if d.spec.FIPS {
			return d.specPlace("fips")
		}
	}
	return engine.SourcePosition{}
}
