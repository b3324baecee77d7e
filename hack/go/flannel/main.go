// flanneld for a network of flannel's host-gw backend in which Kubernetes assigns the subnets: what templates/quickstart and hack/cluster
// ask of it, under the flags that they give. Upstream's program brings etcd and the clients of four clouds as well, which is as much to
// compile again. It has the lease, the routes and the rules of upstream's packages; the order in which it asks for them is upstream's, too.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/flannel-io/flannel/backend"
	_ "github.com/flannel-io/flannel/backend/hostgw" // registers itself as "host-gw"
	"github.com/flannel-io/flannel/network"
	"github.com/flannel-io/flannel/pkg/ipmatch"
	"github.com/flannel-io/flannel/subnet"
	"github.com/flannel-io/flannel/subnet/kube"
	log "k8s.io/klog"
)

const (
	netConf     = "/etc/kube-flannel/net-conf.json" // of the ConfigMap
	subnetFile  = "/run/flannel/subnet.env"         // what the CNI plugin reads
	annotations = "flannel.alpha.coreos.com"        // prefix on Nodes
	resync      = 5                                 // seconds between looks at the rules of iptables
)

func main() {
	masquerade := flag.Bool("ip-masq", false, "masquerade what leaves the network of pods")
	kubernetes := flag.Bool("kube-subnet-mgr", false, "take the subnet that Kubernetes assigned to the node; required")
	flag.Parse()
	if !*kubernetes {
		log.Exit("this flanneld knows no etcd; give --kube-subnet-mgr")
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *masquerade); err != nil {
		log.Exit(err)
	}
}

// run sets the network up, and keeps it until ctx is done.
func run(ctx context.Context, masquerade bool) error {
	manager, err := kube.NewSubnetManager(ctx, "", "", annotations, netConf, true)
	if err != nil {
		return fmt.Errorf("failed to ask Kubernetes for the subnet: %w", err)
	}
	config, err := manager.GetNetworkConfig(ctx)
	if err != nil {
		return fmt.Errorf("failed to read %s: %w", netConf, err)
	}
	if !config.EnableIPv4 || config.EnableIPv6 {
		return fmt.Errorf("%s: this flanneld knows IPv4 only; use a release of flannel", netConf)
	}
	family, err := ipmatch.GetIPFamily(config.EnableIPv4, config.EnableIPv6)
	if err != nil {
		return err
	}
	wire, err := ipmatch.LookupExtIface("", "", "", family, ipmatch.PublicIPOpts{})
	if err != nil {
		return fmt.Errorf("failed to find the interface of the default route: %w", err)
	}
	routes, err := backend.NewManager(ctx, manager, wire).GetBackend(config.BackendType)
	if err != nil {
		return fmt.Errorf("%s: this flanneld knows host-gw only; use a release of flannel: %w", netConf, err)
	}
	var running sync.WaitGroup
	registered, err := routes.RegisterNetwork(ctx, &running, config)
	if err != nil {
		return fmt.Errorf("failed to register the network: %w", err)
	}
	if masquerade {
		go network.SetupAndEnsureIP4Tables(network.MasqRules(config.Network, registered.Lease()), resync)
	}
	go network.SetupAndEnsureIP4Tables(network.ForwardRules(config.Network.String()), resync)
	if err := tellPlugin(config, masquerade, registered); err != nil {
		return err
	}
	registered.Run(ctx)
	running.Wait()
	return nil
}

// tellPlugin writes what the CNI plugin reads, as a whole: it may read at any time.
func tellPlugin(config *subnet.Config, masquerade bool, registered backend.Network) error {
	first := registered.Lease().Subnet
	first.IncrementIP() // the address of the bridge
	text := fmt.Sprintf("FLANNEL_NETWORK=%s\nFLANNEL_SUBNET=%s\nFLANNEL_MTU=%d\nFLANNEL_IPMASQ=%t\n",
		config.Network, first, registered.MTU(), masquerade)
	if err := os.MkdirAll(filepath.Dir(subnetFile), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(subnetFile+".new", []byte(text), 0o644); err != nil {
		return err
	}
	return os.Rename(subnetFile+".new", subnetFile)
}
