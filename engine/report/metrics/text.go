package metrics

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// File has the metrics of one file of a site.
type File struct {
	families map[string]*dto.MetricFamily
}

// Parse reads a file that Encode has made. It refuses metrics of other programs, so
// that no command replaces the file of another program.
func Parse(text []byte) (File, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return File{}, fmt.Errorf("it has no metrics of Prometheus: %w", err)
	}
	for name := range families {
		if !strings.HasPrefix(name, namesBeginWith) {
			return File{}, fmt.Errorf("it has the metric %s, which is not of holdfast", name)
		}
	}
	return File{families}, nil
}

// Site returns the site of the metrics, or "" if no command knew it.
func (f File) Site() string {
	for _, family := range f.families {
		for _, m := range family.GetMetric() {
			if site := labelOf(m, siteLabel); site != "" {
				return site
			}
		}
	}
	return ""
}

// Update returns the file after a command. The metrics that the command does not
// know stay, also those of a later version of holdfast. If the command does not know its site, the site stays, too.
func (f File) Update(figures Figures) File {
	if figures.Site == "" {
		figures.Site = f.Site()
	}
	next := File{families: map[string]*dto.MetricFamily{}}
	if f.Site() == figures.Site {
		for _, name := range f.unknownNames() {
			next.families[name] = f.families[name]
		}
	}
	found := figures.collect()
	for _, m := range catalogue {
		var kept []*dto.Metric
		if f.Site() == figures.Site {
			kept = m.keep(f.families[m.Name], figures)
		}
		for _, s := range found[m.Name] {
			kept = append(kept, m.newMetric(figures.Site, s))
		}
		if len(kept) > 0 {
			next.families[m.Name] = &dto.MetricFamily{Name: new(m.Name), Help: new(m.Help), Type: dto.MetricType_GAUGE.Enum(), Metric: kept}
		}
	}
	return next
}

// keep returns the series of the old file that the command does not replace.
func (m Metric) keep(old *dto.MetricFamily, by Figures) []*dto.Metric {
	switch {
	case m.Scope == StateScope && by.Status != nil, m.Scope == ApplyScope && by.End != nil:
		return nil
	case m.Scope != CommandScope:
		return slices.Clone(old.GetMetric())
	}
	return slices.DeleteFunc(slices.Clone(old.GetMetric()), func(x *dto.Metric) bool { return labelOf(x, commandLabel) == by.Command })
}

func (m Metric) newMetric(site string, s series) *dto.Metric {
	labels := []*dto.LabelPair{{Name: new(siteLabel), Value: new(site)}}
	for i, name := range m.Labels {
		labels = append(labels, &dto.LabelPair{Name: new(name), Value: new(strings.ToValidUTF8(s.labels[i], "�"))})
	}
	return &dto.Metric{Label: labels, Gauge: &dto.Gauge{Value: new(s.value)}}
}

// unknownNames returns the sorted names of the metrics that only a later version of holdfast has.
func (f File) unknownNames() []string {
	names := slices.Sorted(maps.Keys(f.families))
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.ContainsFunc(catalogue, func(m Metric) bool { return m.Name == name })
	})
}

// Encode returns the file in the text format of Prometheus.
func (f File) Encode() ([]byte, error) {
	var text bytes.Buffer
	var names []string
	for _, m := range catalogue {
		names = append(names, m.Name)
	}
	for _, name := range append(names, f.unknownNames()...) {
		if family := f.families[name]; family != nil {
			if _, err := expfmt.MetricFamilyToText(&text, family); err != nil {
				return nil, err
			}
		}
	}
	return text.Bytes(), nil
}

func labelOf(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}
