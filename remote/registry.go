package remote

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelpatch/modelpatch/internal/regular"
	"github.com/modelpatch/modelpatch/remote/address"
)

const (
	// mostManifest bounds a manifest, as registries do (OCI distribution specification v1.1).
	mostManifest = 4 << 20
	// mostToken bounds the answer of a token server.
	mostToken = 1 << 20
)

// manifestTypes are the manifests and indexes that are understood.
const manifestTypes = "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json, application/vnd.oci.image.index.v1+json, application/vnd.docker.distribution.manifest.list.v2+json"

// modelTypes are media types of layers that are a model file as it is: Docker's models
// (docker/model-distribution), ModelPack's weights (modelpack/model-spec), Ollama's.
var modelTypes = []string{"application/vnd.docker.ai.gguf.v3", "application/vnd.docker.ai.gguf.v3.lora", "application/vnd.docker.ai.gguf.v3.mmproj", "application/vnd.docker.ai.model.file.v1+gguf",
	"application/vnd.cncf.model.weight.v1.raw", "application/vnd.ollama.image.model", "application/vnd.ollama.image.projector"}

// pathAnnotations name a layer's file: ModelPack's, its older name, and ORAS's.
var pathAnnotations = []string{"org.cncf.model.filepath", "org.cnai.model.filepath", "org.opencontainers.image.title"}

// descriptor is a part of a manifest (OCI image specification v1.1).
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int64             `json:"size"`
	Annotations map[string]string `json:"annotations"`
}

// name is the path that a layer has in the artifact; "" where it tells none.
func (d descriptor) name() string {
	for _, a := range pathAnnotations {
		if d.Annotations[a] != "" {
			return d.Annotations[a]
		}
	}
	return ""
}

// isModel reports whether a layer is a model file: by its type, or by its name where ORAS pushed it.
func (d descriptor) isModel() bool {
	name := strings.ToLower(d.name())
	named := strings.HasSuffix(name, ".gguf") || strings.HasSuffix(name, ".onnx")
	return named && !strings.Contains(d.MediaType, "tar") || slices.Contains(modelTypes, d.MediaType) && (name == "" || named || !strings.Contains(d.MediaType, "cncf"))
}

// artifact is a model in an OCI registry.
type artifact struct {
	client *Client
	file   address.File

	mu    sync.Mutex
	layer *descriptor
}

// target is the blob of the layer that is the file.
func (a *artifact) target(ctx context.Context, renew bool) (target, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if renew {
		a.client.mu.Lock()
		delete(a.client.oci, a.key())
		a.client.mu.Unlock()
	}
	if a.layer == nil || renew {
		layer, err := a.find(ctx)
		if err != nil {
			return target{}, err
		}
		a.layer = layer
	}
	return target{url: a.url("blobs", a.layer.Digest), header: a.authorization(), size: a.layer.Size, renewable: true, immutable: true}, nil
}

func (a *artifact) key() string { return a.file.Registry + "/" + a.file.Name }

func (a *artifact) authorization() http.Header {
	a.client.mu.Lock()
	defer a.client.mu.Unlock()
	if v := a.client.oci[a.key()]; v != "" {
		return http.Header{"Authorization": {v}}
	}
	return nil
}

// url is a URL of the registry's API. Registries on this machine speak HTTP, as docker has it.
func (a *artifact) url(kind, reference string) *url.URL {
	u := &url.URL{Scheme: "https", Host: a.file.Registry, Path: "/v2/" + a.file.Name + "/" + kind + "/" + reference}
	host := a.file.Registry
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	if a.client.options.AllowPrivate && (host == "localhost" || err == nil && ip.IsLoopback()) {
		u.Scheme = "http"
	}
	return u
}

// mostManifests bounds the manifests of an index that are looked at.
const mostManifests = 8

// find reads the manifest, and of an index the first one that has a model, and picks the layer.
func (a *artifact) find(ctx context.Context) (*descriptor, error) {
	type manifest struct {
		Layers    []descriptor `json:"layers"`
		Manifests []descriptor `json:"manifests"`
	}
	read := func(reference string) (m manifest, err error) {
		b, err := a.fetch(ctx, reference)
		if err == nil && json.Unmarshal(b, &m) != nil {
			err = &Error{What: cannotRead, Why: "the registry's manifest is not JSON"}
		}
		return m, err
	}
	m, err := read(a.file.Reference)
	if err != nil {
		return nil, err
	}
	layers := m.Layers
	for i, d := range m.Manifests {
		if i == mostManifests || slices.ContainsFunc(layers, descriptor.isModel) {
			break
		}
		inner, err := read(d.Digest)
		if err != nil {
			return nil, err
		}
		layers = append(layers, inner.Layers...)
	}
	return a.pick(layers)
}

// validDigest matches digests that are fit for a URL.
var validDigest = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([.+_-][a-z0-9]+)*:[a-zA-Z0-9=_-]+$`) })

// shardOne matches the names of split models but for the first shard.
var laterShard = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`-(\d{5})-of-\d{5}\.gguf$`) })

// pick chooses the layer that the address names, or the only model.
func (a *artifact) pick(layers []descriptor) (*descriptor, error) {
	var found []descriptor
	var types []string
	for _, d := range layers {
		if a.file.Path != "" && d.name() == a.file.Path || a.file.Path == "" && d.isModel() && !isLaterShard(d.name()) {
			found = append(found, d)
		}
		types = append(types, d.MediaType)
	}
	switch {
	case len(found) == 0 && a.file.Path != "":
		return nil, &Error{What: cannotRead, Why: "no layer of the artifact is called so", Missing: true}
	case len(found) == 0:
		return nil, &Error{What: cannotRead, Why: fmt.Sprintf("no layer of the artifact is a GGUF or ONNX file as it is (%.200s)", strings.Join(types, ", ")), Hint: "layers that are archives must be unpacked first"}
	case len(found) > 1:
		var names []string
		for _, d := range found {
			names = append(names, "#"+d.name())
		}
		return nil, &Error{What: cannotRead, Why: fmt.Sprintf("the artifact holds %d models", len(found)), Hint: fmt.Sprintf("add one to the address: %.200s", strings.Join(names, ", "))}
	case found[0].Size < 0 || !validDigest().MatchString(found[0].Digest):
		return nil, &Error{What: cannotRead, Why: "the manifest gives the model no size or no digest"}
	case a.file.Path == "" && strings.HasSuffix(found[0].name(), ".gguf") && laterShard().MatchString(found[0].name()):
		return nil, &Error{What: cannotRead, Why: "the model is split", Hint: "add its first shard to the address: #" + found[0].name()}
	}
	return &found[0], nil
}

func isLaterShard(name string) bool {
	m := laterShard().FindStringSubmatch(name)
	return m != nil && m[1] != "00001"
}

// fetch fetches a manifest, logging in where the registry asks for it.
func (a *artifact) fetch(ctx context.Context, reference string) ([]byte, error) {
	if strings.Contains(reference, ":") && !validDigest().MatchString(reference) {
		return nil, &Error{What: cannotRead, Why: "the registry's index names a manifest without a digest"}
	}
	for login := 0; ; login++ {
		t := target{url: a.url("manifests", reference), header: a.authorization(), size: -1}
		b, resp, err := a.client.document(ctx, t, manifestTypes, mostManifest)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode != http.StatusUnauthorized {
			if sum := sha256.Sum256(b); strings.HasPrefix(reference, "sha256:") && reference != "sha256:"+hex.EncodeToString(sum[:]) {
				return nil, &Error{What: cannotRead, Why: "the registry's manifest does not have the digest that was asked for"}
			}
			return b, nil
		}
		if login > 0 {
			return nil, &Error{What: cannotRead, Why: "the registry answers 401 Unauthorized", Hint: "the repository is not there or not public: docker login writes a login that is read"}
		}
		if err := a.login(ctx, resp.Header.Get("WWW-Authenticate")); err != nil {
			return nil, err
		}
	}
}

// challenge matches the parameters of a WWW-Authenticate header.
var challenge = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`([a-zA-Z]+)="([^"]*)"`) })

// login answers a registry's challenge (distribution's token specification): with the name and
// password that docker login wrote for this registry, or with none. They go to the server that
// the registry names, as docker sends them, and the token to the registry alone.
func (a *artifact) login(ctx context.Context, header string) error {
	user := a.client.dockerLogin(a.file.Registry)
	scheme, _, _ := strings.Cut(header, " ")
	switch {
	case strings.EqualFold(scheme, "Basic") && user != "":
		a.authorize("Basic " + user)
		return nil
	case !strings.EqualFold(scheme, "Bearer"):
		return &Error{What: cannotRead, Why: "the registry wants a login", Hint: "docker login writes one that is read; helpers of docker are not asked"}
	}
	parameters := map[string]string{}
	for _, m := range challenge().FindAllStringSubmatch(header, -1) {
		parameters[strings.ToLower(m[1])] = m[2]
	}
	realm, err := parsed(parameters["realm"], "the registry's token server")
	if err != nil {
		return err
	}
	query := realm.Query()
	if parameters["service"] != "" {
		query.Set("service", parameters["service"])
	}
	query.Set("scope", "repository:"+a.file.Name+":pull")
	realm.RawQuery = query.Encode()
	t := target{url: realm, size: -1}
	if user != "" {
		t.header = http.Header{"Authorization": {"Basic " + user}}
	}
	b, resp, err := a.client.document(ctx, t, "", mostToken)
	if err != nil {
		return err
	}
	var answer struct {
		Token  string `json:"token"`
		Access string `json:"access_token"`
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(b, &answer) != nil || answer.Token+answer.Access == "" {
		return &Error{What: cannotRead, Why: "the registry's token server gives no token", Hint: "the repository is not there or not public: docker login writes a login that is read"}
	}
	if answer.Token == "" {
		answer.Token = answer.Access
	}
	a.authorize("Bearer " + answer.Token)
	return nil
}

func (a *artifact) authorize(value string) {
	a.client.mu.Lock()
	defer a.client.mu.Unlock()
	a.client.oci[a.key()] = value
}

// dockerLogin is what docker login wrote for a registry (config.json, auths); "" where it is
// kept by a helper, or there is none.
func (c *Client) dockerLogin(registry string) string {
	get := c.options.Environment
	folder := get("DOCKER_CONFIG")
	if folder == "" {
		home := get("HOME")
		if home == "" {
			home = get("USERPROFILE")
		}
		folder = filepath.Join(home, ".docker")
	}
	const most = 1 << 20
	b, _, err := regular.Read(filepath.Join(folder, "config.json"), most)
	if err != nil {
		return ""
	}
	var config struct {
		Auths map[string]struct {
			Auth string `json:"auth"`
		} `json:"auths"`
	}
	if json.Unmarshal(b, &config) != nil {
		return ""
	}
	names := []string{registry, "https://" + registry}
	if registry == "registry-1.docker.io" {
		names = append(names, "https://index.docker.io/v1/")
	}
	for _, name := range names {
		auth := config.Auths[name].Auth
		if _, err := base64.StdEncoding.DecodeString(auth); err == nil && auth != "" {
			return auth
		}
	}
	return ""
}

// document asks once for a short answer.
func (a *answer) document(ctx context.Context, t target, header http.Header, most int64) ([]byte, *http.Response, error) {
	c := a.file.client
	ctx, cancel := context.WithTimeout(ctx, 2*c.options.Stall)
	defer cancel()
	resp, from, err := c.ask(ctx, t, t.url, header)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusUnauthorized {
		return nil, nil, a.refused(resp, t, from != t.url)
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, most+1))
	if err == nil && int64(len(b)) > most {
		err = &Error{What: cannotRead, Why: fmt.Sprintf("the server's answer has more than %d bytes", most)}
	}
	c.granted.Add(int64(len(b)))
	c.count(0, int64(len(b)))
	return b, resp, err
}
