package registries

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
)

// pullSecrets lists the files that contain passwords of registries.
var pullSecrets = map[string]bool{
	"/var/lib/kubelet/config.json":       true,
	"/etc/ostree/auth.json":              true,
	"/etc/containers/auth.json":          true,
	"/root/.docker/config.json":          true,
	"/root/.config/containers/auth.json": true,

	// The home of root on ostree hosts, to which the link /root leads.
	"/var/roothome/.docker/config.json":          true,
	"/var/roothome/.config/containers/auth.json": true,
}

// Login is the entry of one registry in a pull secret.
type Login struct {
	Auth  string `json:"auth"`
	Email string `json:"email"`
}

// IsPullSecret reports whether a file contains passwords of registries.
func IsPullSecret(path string) bool { return pullSecrets[path] }

// ReadPullSecret returns the log-ins of a pull secret, by registry. If the pull
// secret is wrong, ReadPullSecret returns the problem. This text quotes nothing
// of the file, not even names of fields and registries, because a password may be
// anywhere in a malformed file.
func ReadPullSecret(contents []byte) (logins map[string]Login, wrong string) {
	if wrong := checkSize(contents); wrong != "" {
		return nil, wrong
	}
	const form = `{"auths":{"REGISTRY":{"auth":"…"}}}, where auth is the base64 of user:password`
	var secret struct {
		Auths map[string]Login `json:"auths"`
	}
	decoder := json.NewDecoder(bytes.NewReader(contents))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&secret); err != nil || decoder.More() {
		return nil, "is not a pull secret; it must be JSON of the form " + form
	}
	if len(secret.Auths) == 0 {
		return nil, "is a pull secret without a registry; it must have the form " + form
	}
	for _, l := range secret.Auths {
		text, err := base64.StdEncoding.DecodeString(l.Auth)
		user, password, pair := strings.Cut(string(text), ":")
		if err != nil || !pair || user == "" || password == "" {
			return nil, "has a registry whose auth is not the base64 of user:password; it must have the form " + form
		}
	}
	return secret.Auths, ""
}

// HasLogin reports whether there is a log-in for an image, or for a mirror of
// the image.
func HasLogin(image string, logins map[string]Login, registries map[string]any) bool {
	for _, name := range append(mirrorNames(image, registries), withoutTransport(image)) {
		for scope := range logins {
			scope = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(scope, "https://"), "http://"), "/")
			if isInScope(name, scope) {
				return true
			}
		}
	}
	return false
}

func isInScope(name, scope string) bool {
	rest, ok := strings.CutPrefix(name, scope)
	return ok && scope != "" && (rest == "" || strings.ContainsAny(rest[:1], "/:@"))
}

func withoutTransport(image string) string {
	for {
		head, rest, ok := strings.Cut(image, ":")
		switch head {
		case "ostree-unverified-registry", "ostree-image-signed", "ostree-unverified-image", "ostree-remote-registry", "docker", "registry":
			image = strings.TrimPrefix(rest, "//")
		default:
			return image
		}
		if !ok {
			return image
		}
	}
}

// RegistryName returns the registry of an image.
func RegistryName(image string) string {
	registry, _, _ := strings.Cut(withoutTransport(image), "/")
	return registry
}

func mirrorNames(image string, registries map[string]any) []string {
	var names []string
	for _, r := range asTables(registries["registry"]) {
		scope, _ := r["prefix"].(string)
		location, _ := r["location"].(string)
		if scope == "" {
			scope = location
		}
		if !isInScope(withoutTransport(image), scope) {
			continue
		}
		names = append(names, location)
		for _, m := range asTables(r["mirror"]) {
			mirror, _ := m["location"].(string)
			names = append(names, mirror)
		}
	}
	return names
}

func asTables(v any) []map[string]any {
	list, _ := v.([]map[string]any)
	return list
}
