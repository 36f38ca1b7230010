package inventory_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"holdfast/engine/inventory"
)

// gateSite returns a site with a gate that runs a query.
func gateSite(query string) fstest.MapFS {
	return fstest.MapFS{"a.hcl": {Data: fmt.Appendf(nil, `
site "s" {}
pool "w" {
  gate "g" {
    when = ["after-host"]
    promql {
      url   = "http://prom:9090"
      query = <<-END
        %s
      END
    }
  }
}
host "w" {
  address = "w"
  pool    = "w"
}
`, query)}}
}

// TestGateQueries checks the warnings for queries that succeed for any value of
// their series.
func TestGateQueries(t *testing.T) {
	const bool, none = "remove bool", "compares nothing"
	for query, want := range map[string]string{
		`up`:                                     none,
		`up{job!="a",instance=~"{host}:.*"}`:     none,
		`sum(rate(errors_total{code=">5"}[5m]))`: none,
		`up # == 1`:                              none,
		"ALERTS{a='x == \\'1'} + on(a) b{c=`==`}": none,
		`up == bool 1`:     bool,
		`min(up >=BOOL 1)`: bool,

		`up == 1`:                        "",
		`min(up{job="{host}"}) == 1`:     "",
		`1 < sum(up)`:                    "",
		"up\n        !=\n        0":      "",
		`sum(up == bool 1) > 10`:         "",
		`absent(ALERTS{pool="{pool}"})`:  "",
		`scalar(up) == bool 1`:           "",
		`up unless on(instance) down`:    "",
		`up AND ready`:                   "",
		`slo:errors:ok`:                  "",
		`up{a=~"\\p{Greek}{2}"} == 1`:    "",
		`up{a="#"} == 1`:                 "",
		`up{instance="{address}:1"} > 0`: "",
	} {
		loaded, err := inventory.Load(inventory.Source{FS: gateSite(query), Home: "/", Paths: []string{"a.hcl"}})
		if err != nil {
			t.Errorf("%s: %v", query, err)
			continue
		}
		warned := strings.Join(loaded.Warnings, "\n")
		if (want == "") != (warned == "") || !strings.Contains(warned, want) || want != "" && !strings.Contains(warned, `a.hcl:6:5: gate "g": `) {
			t.Errorf("%s: warned %q, not of %q", query, warned, want)
		}
	}
}

// TestGateQueryWords checks that an error names the place of an unknown
// placeholder.
func TestGateQueryWords(t *testing.T) {
	for _, query := range []string{`up{instance="{hostname}"} == 1`, `up{pool="{POOL}"} == 1`, `up{a=~"p{x}"} == 1`} {
		_, err := inventory.Load(inventory.Source{FS: gateSite(query), Home: "/", Paths: []string{"a.hcl"}})
		if err == nil || !slices.ContainsFunc(strings.Split(err.Error(), "\n"), func(line string) bool {
			return strings.Contains(line, "a.hcl:8:15: unknown placeholder {") && strings.Contains(line, "use {host}, {address}, {pool}")
		}) {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// TestGateQueryHopeless checks that loading refuses a query that no server can
// evaluate.
func TestGateQueryHopeless(t *testing.T) {
	for query, want := range map[string]string{
		`min(up == 1`:                 "query has a ( that is not closed",
		`up[5m`:                       "query has a [ that is not closed",
		`up{job="node" == 1`:          "query has a { that is not closed",
		`up) == 1`:                    "query has a ) that closes nothing",
		`min(up[5m) == 1]`:            "query has a ) that closes nothing",
		`up{job="node} == 1`:          "query has a string that does not end",
		`up{job=node'} == 1`:          "query has a string that does not end",
		`up[5m]`:                      "query returns a range of samples",
		"up[5m:1m] # of the last":     "query returns a range of samples",
		`"up == 1"`:                   "query returns a string",
		`max_over_time(up[5m]) == 1`:  "",
		`up{a="(["} == 1 # never (`:   "",
		"up{a='it\"s',b=`\"`} == 1":   "",
		`up{a="\\\"", b="}"} == 1`:    "",
		`count(up{a=""} == 1) > 0`:    "",
		`up{job="node"} == 1 # it's`:  "",
		`{__name__="up", job="a"}==1`: "",
	} {
		_, err := inventory.Load(inventory.Source{FS: gateSite(query), Home: "/", Paths: []string{"a.hcl"}})
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), "a.hcl:8:15: "+want+": write one")) {
			t.Errorf("%s: %v, not %q", query, err, want)
		}
	}
}

// TestGateQueryURL checks that loading refuses the address of a Prometheus page
// for browsers.
func TestGateQueryURL(t *testing.T) {
	for url, bad := range map[string]bool{"http://prom:9090/graph": true, "http://prom:9090/prometheus/": false, "http://prom:9090/graphs": false} {
		site := gateSite("up == 1")
		site["a.hcl"].Data = []byte(strings.ReplaceAll(string(site["a.hcl"].Data), "http://prom:9090", url))
		_, err := inventory.Load(inventory.Source{FS: site, Home: "/", Paths: []string{"a.hcl"}})
		if bad != (err != nil && strings.Contains(err.Error(), "url has more than the server's address")) {
			t.Errorf("%s: %v", url, err)
		}
	}
}
