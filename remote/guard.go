package remote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"github.com/modelpatch/modelpatch/report"
)

// private are networks beside those that netip names: shared addresses of providers (RFC 6598),
// protocol assignments (RFC 6890), benchmarks (RFC 2544), reserved ones (RFC 1112), and
// prefixes that lead to IPv4 inside IPv6 (RFC 6052, 3056), where what is embedded is looked at.
var private = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b:1::/48"),
	netip.MustParsePrefix("fec0::/10"),
}

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96")
	sixToV4 = netip.MustParsePrefix("2002::/16")
	oldV4   = netip.MustParsePrefix("::/96")
)

// isPrivate reports whether an address is of this machine, of a private network, or of none.
func isPrivate(a netip.Addr) bool {
	a = a.Unmap().WithZone("")
	if b := a.As16(); a.Is6() {
		switch {
		case nat64.Contains(a), oldV4.Contains(a):
			return a.IsLoopback() || a.IsUnspecified() || isPrivate(netip.AddrFrom4([4]byte(b[12:16])))
		case sixToV4.Contains(a):
			return isPrivate(netip.AddrFrom4([4]byte(b[2:6])))
		}
	}
	if a.IsLoopback() || a.IsPrivate() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() || a.IsInterfaceLocalMulticast() {
		return true
	}
	for _, p := range private {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// privateError refuses a server in a private network.
func privateError(host, is string) *Error {
	return &Error{What: refused, Why: fmt.Sprintf("%s is %s, of a private network or this machine", host, is),
		Remedies: []report.Remedy{report.Do("", "reads from private networks too", "allow-private", "")}}
}

// transports makes the client's ways out: straight ones look at every address that is dialled, when
// names are resolved already, so that a name that resolves to another address the second time does not
// pass; a proxy of the environment resolves names itself and may be private.
func transports(o Options) (straight, proxied *http.Transport) {
	const (
		dialTime = 20 * time.Second
		idle     = 30 * time.Second
	)
	base := func(d *net.Dialer) *http.Transport {
		return &http.Transport{DialContext: d.DialContext, TLSClientConfig: o.TLS, TLSHandshakeTimeout: dialTime, ForceAttemptHTTP2: true,
			ResponseHeaderTimeout: o.Stall, IdleConnTimeout: idle, MaxIdleConnsPerHost: parallel, MaxResponseHeaderBytes: 1 << 20, DisableCompression: true}
	}
	guarded := &net.Dialer{Timeout: dialTime}
	if !o.AllowPrivate {
		guarded.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return errors.New("the address that was dialled cannot be read")
			}
			if isPrivate(at.Addr()) && (o.trusted == nil || !o.trusted(at)) {
				return privateError("its server", at.Addr().String())
			}
			return nil
		}
	}
	straight, proxied = base(guarded), base(&net.Dialer{Timeout: dialTime})
	proxied.Proxy = http.ProxyFromEnvironment
	return straight, proxied
}

// way is the transport for a request: by the proxy that the environment names for it, if any.
func (c *Client) way(r *http.Request) (*http.Transport, error) {
	proxy, err := http.ProxyFromEnvironment(r)
	if err != nil {
		return nil, &Error{What: cannotRead, Why: "the environment's proxy is not an address"}
	}
	if proxy == nil {
		return c.straight, nil
	}
	if host := r.URL.Hostname(); !c.options.AllowPrivate {
		if a, err := netip.ParseAddr(host); err == nil && isPrivate(a) {
			return nil, privateError(host, "an address")
		}
	}
	return c.proxied, nil
}

// allowed refuses schemes that are no HTTP, and HTTP without encryption outside of private networks.
func (c *Client) allowed(u *url.URL) error {
	switch {
	case u.Scheme == "https" || u.Scheme == "http" && c.options.AllowPrivate:
		return nil
	case u.Scheme == "http":
		return &Error{What: refused, Why: "http:// is not encrypted", Hint: "use https://",
			Remedies: []report.Remedy{report.Do("", "takes http:// too, for servers in private networks", "allow-private", "")}}
	}
	return &Error{What: refused, Why: fmt.Sprintf("it leads to the scheme %q", u.Scheme)}
}
