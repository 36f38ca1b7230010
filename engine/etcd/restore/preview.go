package restore

// Preview describes a restore for programs, without carrying it out.
type Preview struct {
	Cluster       string        `json:"cluster"`
	Hosts         []PreviewHost `json:"hosts"`               // hosts of the inventory that name the cluster
	Snapshots     []PreviewData `json:"snapshots,omitempty"` // the newest snapshots that runs have saved on this machine
	Source        *PreviewData  `json:"source,omitempty"`    // source of the new data; missing: there is none, or the new data of an interrupted restore are used
	LostRevisions int64         `json:"lost_revisions"`      // revisions that are known and that the source does not have; later writes are lost, too
	Others        []PreviewData `json:"others,omitempty"`    // data of other histories, whose revisions cannot be compared with those of the source
	Steps         []Step        `json:"steps"`               // steps, in order
	Refusal       *Refusal      `json:"refusal,omitempty"`   // why there must be no restore; missing: the cluster then runs again
}

// PreviewHost is a host of the cluster with its data.
type PreviewHost struct {
	Host      string       `json:"host"`
	Problem   string       `json:"problem,omitempty"`    // why its data are not known
	Running   bool         `json:"running"`              // etcd runs there
	Lost      bool         `json:"lost"`                 // a person has said that it is lost
	Replaced  bool         `json:"replaced"`             // its data are of a cluster that an earlier restore has replaced
	ClusterID string       `json:"cluster_id,omitempty"` // ID of the cluster of its data
	Data      *PreviewData `json:"data,omitempty"`       // its data; missing: it has none that can be used
}

// PreviewData are data that a restore can use: those of a host, or a snapshot.
type PreviewData struct {
	Host     string `json:"host,omitempty"` // host that has the data; missing: a snapshot
	Path     string `json:"path,omitempty"` // path of the snapshot on this machine
	Revision int64  `json:"revision"`       // last revision; revisions of unlike histories cannot be compared
	Time     string `json:"time,omitempty"` // time of the last write to the file
}

// NewPreview returns the preview of a forecast.
func NewPreview(s State, f Forecast, saved []Source) Preview {
	p := Preview{Cluster: s.Cluster, Steps: append([]Step{}, f.Steps...), Refusal: f.Refusal, Snapshots: describeData(saved)}
	for _, h := range s.Hosts {
		p.Hosts = append(p.Hosts, s.previewHost(h))
	}
	if f.Refusal == nil && f.Source.Identity != "" {
		p.Source = &describeData([]Source{f.Source})[0]
		p.LostRevisions = s.Freshest(f.Source, saved).Revision - f.Source.Revision
		p.Others = describeData(s.OtherHistories(f.Source, saved))
	}
	return p
}

func (s State) previewHost(h Host) PreviewHost {
	out := PreviewHost{Host: h.Name, Problem: h.Unreachable, Running: h.Running, Lost: s.IsLost(h.Name), Replaced: h.Replaced, ClusterID: h.DataCluster}
	switch {
	case h.Unreachable != "" || !h.HasData || h.Replaced:
	case h.Unread != "":
		out.Problem = h.Unread
	default:
		out.Data = &PreviewData{Host: h.Name, Revision: h.Data.Revision, Time: h.Data.Time}
	}
	return out
}

func describeData(list []Source) []PreviewData {
	var out []PreviewData
	for _, source := range list {
		out = append(out, PreviewData{source.Host, source.Path, source.Revision, source.Time})
	}
	return out
}
