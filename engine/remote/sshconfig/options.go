package sshconfig

import (
	"fmt"
	"slices"
	"strings"
)

// knownOptions are the options of ssh_config that OpenSSH 10.5 knows, in lower case, with those that it only warns
// about. The patches of Debian, Fedora and Apple add those that begin with gssapi, protocolkeepalives, rsaminsize,
// setuptimeout, useblacklistedkeys and usekeychain. ssh refuses a file with another option.
var knownOptions = strings.Fields(`
	addkeystoagent addressfamily afstokenpassing batchmode bindaddress bindinterface canonicaldomains
	canonicalizefallbacklocal canonicalizehostname canonicalizemaxdots canonicalizepermittedcnames casignaturealgorithms
	certificatefile challengeresponseauthentication channeltimeout checkhostip cipher ciphers clearallforwardings
	compression compressionlevel connectionattempts connecttimeout controlmaster controlpath controlpersist
	dsaauthentication dynamicforward enableescapecommandline enablesshkeysign escapechar exitonforwardfailure fallbacktorsh
	fingerprinthash forkafterauthentication forwardagent forwardx11 forwardx11timeout forwardx11trusted gatewayports
	globalknownhostsfile globalknownhostsfile2 gssapiauthentication gssapiclientidentity gssapidelegatecredentials
	gssapikexalgorithms gssapikeyexchange gssapirenewalforcesrekey gssapiserveridentity gssapitrustdns hashknownhosts host
	hostbasedacceptedalgorithms hostbasedauthentication hostbasedkeytypes hostkeyalgorithms hostkeyalias hostname
	identitiesonly identityagent identityfile identityfile2 ignoreunknown include ipqos kbdinteractiveauthentication
	kbdinteractivedevices keepalive kerberosauthentication kerberostgtpassing kexalgorithms knownhostscommand localcommand
	localforward loglevel logverbose macs match nohostauthenticationforlocalhost numberofpasswordprompts
	obscurekeystroketiming passwordauthentication permitlocalcommand permitremoteopen pkcs11provider port
	preferredauthentications protocol protocolkeepalives proxycommand proxyjump proxyusefdpass pubkeyacceptedalgorithms
	pubkeyacceptedkeytypes pubkeyauthentication refuseconnection rekeylimit remotecommand remoteforward requesttty
	requiredrsasize revokedhostkeys rhostsauthentication rhostsrsaauthentication rsaauthentication rsaminsize
	securitykeyprovider sendenv serveralivecountmax serveraliveinterval sessiontype setenv setuptimeout skeyauthentication
	smartcarddevice stdinnull streamlocalbindmask streamlocalbindunlink stricthostkeychecking syslogfacility tag
	tcpkeepalive tisauthentication tunnel tunneldevice updatehostkeys useblacklistedkeys usekeychain useprivilegedport user
	userknownhostsfile userknownhostsfile2 useroaming usersh verifyhostkeydns versionaddendum visualhostkey warnweakcrypto
	xauthlocation
`)

// flagWords are the values of most options that switch something on or off.
var flagWords = []string{"true", "false", "yes", "no"}

// optionWords are the values of options that change a connection or cause a warning, in lower case. ssh refuses others, in
// any block.
var optionWords = map[string][]string{
	"identitiesonly": flagWords, "proxyusefdpass": flagWords, "checkhostip": flagWords,
	"canonicalizehostname": append([]string{"always"}, flagWords...),
	"pubkeyauthentication": append([]string{"unbound", "host-bound"}, flagWords...),
	"addressfamily":        {"any", "inet", "inet6"},
}

// checkChoice returns an error if a line has a value that its option does not allow.
func (l line) checkChoice() error {
	allowed := optionWords[l.keyword]
	if allowed == nil || slices.Contains(allowed, strings.ToLower(l.words[0])) {
		return nil
	}
	last := len(allowed) - 1
	return fmt.Errorf("the value must be %s or %s", strings.Join(allowed[:last], ", "), allowed[last])
}

// isYes reports whether a value of flagWords switches its option on.
func isYes(word string) bool {
	return strings.EqualFold(word, "yes") || strings.EqualFold(word, "true")
}

// isNo reports whether a value of flagWords switches its option off.
func isNo(word string) bool { return strings.EqualFold(word, "no") || strings.EqualFold(word, "false") }
