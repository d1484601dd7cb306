import { createHash } from "node:crypto";
import { defineConfig } from "vite";

// The whole page is one file, and its policy allows the one script and the one style that are in it.
function singleFile() {
  const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
  return {
    name: "single-file",
    enforce: "post",
    generateBundle(_, bundle) {
      const page = bundle["index.html"];
      const files = Object.values(bundle).filter((file) => file !== page);
      const script = files
        .filter((file) => file.type === "chunk")
        .map((file) => file.code)
        .join("\n")
        .replace(/<\/(script)/gi, "<\\/$1")
        .trim();
      const style = files
        .filter((file) => file.fileName.endsWith(".css"))
        .map((file) => file.source)
        .join("\n")
        .trim();
      const policy =
        "default-src 'none'; " +
        `script-src ${hash(script)}; style-src ${hash(style)}; ` +
        "img-src data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'";
      const inHead =
        `<meta http-equiv="Content-Security-Policy" content="${policy}">\n` +
        `    <style>${style}</style>\n    <script type="module">${script}</script>`;
      const lean = page.source.replace(
        /\s*<(script type="module"|link rel="(stylesheet|modulepreload)")[^>]*>(<\/script>)?/g,
        "",
      );
      if (!lean.includes('<script type="application/json" id="sadam-data">null</script>'))
        throw new Error("index.html has no place for the data, as src/page/page.cpp looks for it");
      page.source = lean.replace("<!-- policy, style and script -->", () => inHead);
      for (const file of files) delete bundle[file.fileName];
    },
  };
}

export default defineConfig({
  base: "./",
  build: {
    target: "es2021",
    modulePreload: false,
    cssCodeSplit: false,
    assetsInlineLimit: 1e8,
    reportCompressedSize: false,
  },
  plugins: [singleFile()],
});
