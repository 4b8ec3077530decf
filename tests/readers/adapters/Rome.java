import com.rometools.rome.feed.synd.SyndEntry;
import com.rometools.rome.feed.synd.SyndFeed;
import com.rometools.rome.io.SyndFeedInput;
import com.rometools.rome.io.XmlReader;
import java.io.PrintStream;
import java.net.URL;
import java.nio.charset.StandardCharsets;

/** ROME over its XmlReader, which decides on the encoding by the labels (Java's own HTTP, redirects followed). */
public class Rome {
	public static void main(String[] urls) throws Exception {
		PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
		for (String url : urls) {
			try (XmlReader reader = new XmlReader(new URL(url))) {
				SyndFeed feed = new SyndFeedInput().build(reader);
				out.println(url + "\t" + feed.getTitle());
				for (SyndEntry entry : feed.getEntries())
					out.println(url + "\t" + entry.getTitle());
			} catch (Exception error) {
				System.err.println(url + ": " + error);
			}
		}
	}
}
