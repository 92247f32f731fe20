use ictd::page::html::table;

#[test]
fn nothing_of_a_text_becomes_markup() {
    let html = table("<t>\"", &["<h>"], &[vec!["<r>".into(), "&\"".into()]]);
    assert!(!html.contains("<t>") && !html.contains("<h>") && !html.contains("<r>"), "{html}");
    assert!(html.contains("aria-label=\"&lt;t&gt;&quot;\""), "{html}");
    assert!(html.contains("<th scope=\"row\">&lt;r&gt;</th><td>&amp;&quot;</td>"), "{html}");
    assert!(html.contains("<th scope=\"col\">&lt;h&gt;</th>"), "{html}");
}
