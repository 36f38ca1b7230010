package hoststate

import (
	_ "embed" // embeds a script
	"slices"
	"strconv"
	"strings"

	"holdfast/engine"
	"holdfast/engine/textutil"
	"holdfast/modules/shell"
)

//go:embed sh/systemprocess.sh
var systemProcessScript string

//go:embed sh/processes.sh
var processesScript string

// ProcessesProbe returns the probe that finds the etcd and the kubelet of a host, for a first
// inventory. No run needs it.
func ProcessesProbe() engine.Command {
	return engine.Command{Name: "processes", Script: systemProcessScript + processesScript}
}

// Processes has the programs of a host that an inventory names.
type Processes struct {
	Hostname string
	Tools    []string // of rpm-ostree and bootc, those that the host has
	Etcd     []EtcdProcess
	Kubelets []string // names of the nodes that they register
}

// EtcdProcess is an etcd that runs on a host, with the settings that its clients need.
type EtcdProcess struct {
	ClientPort  int
	TLS         bool         // clients must use TLS
	Credentials []engine.TLS // files that may be good for a client, the best ones first
	ConfigFile  string       // file with all settings; then nothing else is known
}

// ReadProcesses reads the output of ProcessesProbe.
func ReadProcesses(o engine.Outputs) (Processes, string) {
	text, problem := shell.Output(o, ProcessesProbe().Name)
	var p Processes
	program := ""
	var arguments, variables []string
	finish := func() {
		settings := readSettings(arguments, variables)
		switch program {
		case "etcd":
			p.Etcd = append(p.Etcd, readEtcd(settings))
		case "kubelet":
			name := settings["hostname-override"]
			if name == "" {
				name = p.Hostname
			}
			p.Kubelets = append(p.Kubelets, strings.ToLower(name))
		}
		program, arguments, variables = "", nil, nil
	}
	for line := range strings.Lines(text) {
		kind, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch kind {
		case "hostname":
			p.Hostname = textutil.Printable(value)
		case "tool":
			p.Tools = append(p.Tools, value)
		case "process":
			finish()
			program = value
		case "argument":
			arguments = append(arguments, textutil.Printable(value))
		case "variable":
			variables = append(variables, textutil.Printable(value))
		}
	}
	finish()
	return p, problem
}

// readSettings returns the settings of a program by the names of its flags. A flag is stronger than
// the variable ETCD_FLAG.
func readSettings(arguments, variables []string) map[string]string {
	settings := map[string]string{}
	for _, v := range variables {
		name, value, _ := strings.Cut(strings.TrimPrefix(v, "ETCD_"), "=")
		settings[strings.ToLower(strings.ReplaceAll(name, "_", "-"))] = value
	}
	for i := 1; i < len(arguments); i++ { // the first one is the program
		name, value, joined := strings.Cut(strings.TrimLeft(arguments[i], "-"), "=")
		if !strings.HasPrefix(arguments[i], "-") {
			continue
		}
		if !joined && i+1 < len(arguments) && !strings.HasPrefix(arguments[i+1], "-") {
			value = arguments[i+1]
		}
		settings[name] = value
	}
	return settings
}

// readEtcd returns the settings of an etcd. Its peer certificate comes first, because a certificate
// for servers alone is none for a client.
func readEtcd(settings map[string]string) EtcdProcess {
	e := EtcdProcess{ClientPort: 2379, ConfigFile: settings["config-file"]}
	for _, address := range strings.Split(settings["listen-client-urls"], ",") {
		scheme, rest, _ := strings.Cut(strings.TrimSpace(address), "://")
		if e.TLS && scheme != "https" {
			continue
		}
		rest, _, _ = strings.Cut(rest, "/")
		if port, err := strconv.ParseUint(rest[strings.LastIndexByte(rest, ':')+1:], 10, 16); err == nil && port > 0 {
			e.ClientPort, e.TLS = int(port), scheme == "https"
		}
		if e.TLS {
			break
		}
	}
	ca := settings["trusted-ca-file"]
	add := func(issuer, cert, key string) {
		t := engine.TLS{CA: ca, Cert: cert, Key: key}
		absolute := !slices.ContainsFunc([]string{t.CA, t.Cert, t.Key}, func(path string) bool { return !strings.HasPrefix(path, "/") })
		if e.TLS && issuer == ca && absolute && !slices.Contains(e.Credentials, t) {
			e.Credentials = append(e.Credentials, t)
		}
	}
	add(settings["peer-trusted-ca-file"], settings["peer-cert-file"], settings["peer-key-file"])
	add(ca, settings["cert-file"], settings["key-file"])
	return e
}
