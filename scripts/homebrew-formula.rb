# A template: `npm run archives` fills in version and checksum.
class Wield < Formula
  desc "Tool runtime for AI agents: write a tool once, call it safely from anywhere"
  homepage "https://github.com/wield-dev/wield"
  url "https://github.com/wield-dev/wield/releases/download/v@VERSION@/wield-@VERSION@.tgz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "node"

  def install
    system "npm", "install", *std_npm_args
    bin.install_symlink libexec.glob("bin/*")
  end

  test do
    system bin/"wield", "init"
    assert_equal "Hello, Ada!\n", shell_output("#{bin}/wield call hello --name Ada")
  end
end
