package setting

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"holdfast/engine"
)

// Values are settings of etcd by their names in the inventory.
type Values map[string]string

const (
	variablePrefix = "ETCD_"

	quota     = "quota_backend_bytes"
	heartbeat = "heartbeat_interval"
	election  = "election_timeout"
	walDir    = "wal_dir"
)

// File returns the file of environment variables that etcd reads, in order, or "" if there are no settings.
func (v Values) File() string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(v)) {
		b.WriteString(variablePrefix + strings.ToUpper(name) + "=" + v[name] + "\n")
	}
	return b.String()
}

// AddLine adds a line of the file. It ignores all other lines.
func (v Values) AddLine(line string) {
	name, value, found := strings.Cut(line, "=")
	if name, ours := strings.CutPrefix(name, variablePrefix); found && ours {
		v[strings.ToLower(name)] = value
	}
}

// Wanted has the settings that the inventory wants for the etcd of a host.
type Wanted struct {
	Values Values
	User   string // User= of the unit; "": the unit keeps its own

	Survives bool // the unit keeps running during a soft reboot

	positions map[string]string
}

// NewWanted returns the settings of the inventory for a host of a managed cluster.
func NewWanted(c engine.Cluster, h engine.Host) Wanted {
	w := Wanted{Values: Values{}, Survives: c.Managed.SurviveSoftReboots}
	s := c.Managed.Settings
	if s == nil {
		return w
	}
	w.User, w.positions = s.User, s.Positions
	set := func(name, value string) {
		if value != "" && value != "0" {
			w.Values[name] = value
		}
	}
	set(quota, strconv.FormatInt(s.QuotaBackendBytes, 10))
	set(walDir, s.WALDir)
	set(heartbeat, formatMilliseconds(s.HeartbeatInterval))
	set(election, formatMilliseconds(s.ElectionTimeout))
	if s.AutoCompactionRetention != "" {
		w.Values["auto_compaction_mode"] = "periodic"
		set("auto_compaction_mode", s.AutoCompactionMode)
		w.Values["auto_compaction_retention"] = s.AutoCompactionRetention
	}
	if s.DeriveURLs {
		own := clientURL(c, h.Address)
		set("advertise_client_urls", own)
		set("listen_client_urls", own+","+clientURL(c, "127.0.0.1"))
	}
	return w
}

func formatMilliseconds(d engine.Duration) string {
	return strconv.FormatInt(time.Duration(d).Milliseconds(), 10)
}

// clientURL returns the URL for clients, in the scheme in which holdfast itself is a client.
func clientURL(c engine.Cluster, address string) string {
	scheme := "http://"
	if c.TLS != nil {
		scheme = "https://"
	}
	if strings.Contains(address, ":") { // IPv6
		address = "[" + address + "]"
	}
	return scheme + address + ":" + strconv.Itoa(c.ClientPort)
}
